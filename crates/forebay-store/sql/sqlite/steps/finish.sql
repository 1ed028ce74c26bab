UPDATE steps SET finished_at = ?4, entry = ?5, entry_blob = ?6
WHERE job_id = ?1 AND generation = ?2 AND number = ?3
