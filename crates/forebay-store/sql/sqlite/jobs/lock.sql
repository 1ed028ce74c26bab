SELECT * FROM job_records WHERE id = ?1
