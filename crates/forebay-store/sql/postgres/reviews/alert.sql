-- Once.
UPDATE reviews SET alerted_at = ?3
WHERE job_id = ?1 AND generation = ?2 AND decided_at IS NULL AND alerted_at IS NULL AND due_at <= ?3
RETURNING tenant, due_at
