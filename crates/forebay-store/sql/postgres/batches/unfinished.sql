SELECT DISTINCT j.id FROM batch_members m JOIN jobs j ON j.id = m.job_id
WHERE m.batch = ?1 AND j.finished_at IS NULL
ORDER BY j.id LIMIT ?2
