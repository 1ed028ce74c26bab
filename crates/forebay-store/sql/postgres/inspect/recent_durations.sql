-- How long the last calls of the task took that brought an answer.
SELECT duration FROM (
  SELECT a.ended_at - a.claimed_at AS duration
  FROM jobs j JOIN attempts a ON a.job = j.seq
  WHERE j.tenant = ?1 AND j.seq > 0 AND j.task = ?2 AND j.finished_at IS NOT NULL AND a.outcome = 'succeeded'
  ORDER BY j.seq DESC LIMIT 50) recent
ORDER BY duration
