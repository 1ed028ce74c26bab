SELECT 1 FROM attempts WHERE id = ?1 AND job_id = ?2 AND fence = ?3
