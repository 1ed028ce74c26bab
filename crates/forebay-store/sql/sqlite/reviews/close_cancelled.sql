UPDATE reviews SET decided_at = ?3, decision = 'cancelled'
WHERE job_id = ?1 AND generation = ?2 AND decided_at IS NULL
