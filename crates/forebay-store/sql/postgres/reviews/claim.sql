UPDATE reviews SET claimed_by = ?3, claimed_name = ?4, claimed_until = ?5
WHERE job_id = ?1 AND generation = ?2 AND decided_at IS NULL
