-- The open or latest one.
SELECT * FROM review_records WHERE tenant = ?1 AND job_id = ?2
ORDER BY generation DESC LIMIT 1
