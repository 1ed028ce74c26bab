UPDATE reviews SET
  decided_at = ?3, decision = 'cancelled', claimed_by = NULL, claimed_name = NULL, claimed_until = NULL
WHERE job_id = ?1 AND generation = ?2 AND decided_at IS NULL
