SELECT id FROM attempts WHERE job_id = ?1 AND settled_at IS NULL ORDER BY claimed_at DESC LIMIT 1
