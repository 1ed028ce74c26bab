UPDATE dead_letters SET state = ?2, owner = ?3, updated_at = ?4 WHERE job_id = ?1
