SELECT id, task, revision FROM jobs
WHERE lease_until <= ?1
ORDER BY lease_until LIMIT ?2
