SELECT id, task, revision FROM jobs
WHERE state = 'RUNNING' AND lease_until <= ?1
ORDER BY lease_until LIMIT ?2
