-- How long the last calls of the task took that brought an answer: of those that are found by the index of every
-- sixteenth job, and of the tenant's newest jobs, where there are few. So many are looked at and not more, whatever waits.
SELECT duration FROM (
  SELECT a.job, a.fence, a.ended_at - a.claimed_at AS duration
  FROM (
    SELECT job, fence, claimed_at, ended_at, outcome FROM attempts
    WHERE tenant = ?1 AND task = ?2 AND job % 16 = 0 ORDER BY job DESC LIMIT 500) a
  WHERE a.outcome = 'succeeded'
  UNION
  SELECT a.job, a.fence, a.ended_at - a.claimed_at
  FROM (SELECT job FROM inputs WHERE tenant = ?1 ORDER BY job DESC LIMIT 100) n JOIN attempts a ON a.job = n.job
  WHERE a.task = ?2 AND a.outcome = 'succeeded'
  ORDER BY job DESC LIMIT 50) recent
ORDER BY duration
