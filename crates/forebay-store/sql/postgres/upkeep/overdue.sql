SELECT id FROM jobs
WHERE expires_at <= ?1
ORDER BY expires_at LIMIT ?2
