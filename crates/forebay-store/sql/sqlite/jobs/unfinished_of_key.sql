SELECT 1 FROM jobs
WHERE tenant = ?1 AND task = ?2 AND ordering_key = ?3 AND finished_at IS NULL
LIMIT 1
