-- How long the last calls of the task took that brought an answer.
SELECT duration FROM (
  SELECT a.ended_at - a.claimed_at AS duration
  FROM inputs n JOIN jobs j ON j.seq = n.job JOIN attempts a ON a.job = n.job
  WHERE n.tenant = ?1 AND j.task = ?2 AND j.finished_at IS NOT NULL AND a.outcome = 'succeeded'
  ORDER BY n.job DESC LIMIT 50) recent
ORDER BY duration
