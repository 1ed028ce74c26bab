-- The last calls of a tenant's task in a pool, and what they took together: found as in inspect/recent_durations. What was
-- not sent took nothing, and when a worker was lost is not when its call was over.
SELECT count(*), CAST(coalesce(sum(duration), 0) AS bigint), CAST(coalesce(sum(reserved_input), 0) AS bigint),
       CAST(coalesce(sum(reserved_output), 0) AS bigint)
FROM (
  SELECT job, fence, duration, reserved_input, reserved_output
  FROM (
    SELECT a.job, a.fence, a.ended_at - a.claimed_at AS duration, a.reserved_input, a.reserved_output
    FROM (
      SELECT job, fence, claimed_at, ended_at, pool, outcome, failure_class, reserved_input, reserved_output FROM attempts
      WHERE tenant = ?1 AND task = ?2 AND job % 16 = 0 ORDER BY job DESC LIMIT 500) a
    WHERE a.pool = ?3 AND a.outcome <> 'failed_before_send' AND a.failure_class IS NOT 'worker_lost'
    UNION
    SELECT a.job, a.fence, a.ended_at - a.claimed_at, a.reserved_input, a.reserved_output
    FROM (SELECT job FROM inputs WHERE tenant = ?1 ORDER BY job DESC LIMIT 100) n JOIN attempts a ON a.job = n.job
    WHERE a.task = ?2 AND a.pool = ?3 AND a.outcome <> 'failed_before_send' AND a.failure_class IS NOT 'worker_lost') found
  WHERE duration >= 0
  ORDER BY job DESC, fence DESC LIMIT 50) recent
