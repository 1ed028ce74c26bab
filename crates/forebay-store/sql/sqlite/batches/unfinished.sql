SELECT DISTINCT j.id FROM batch_members m JOIN inputs n ON n.id = m.job_id JOIN jobs j ON j.seq = n.job
WHERE m.batch = ?1 AND j.finished_at IS NULL
ORDER BY j.id LIMIT ?2
