UPDATE grants SET lease_until = ?3 WHERE attempt_id = ?1 AND job_id = ?2
