SELECT j.state, count(*) FROM batch_members m JOIN inputs n ON n.id = m.job_id JOIN jobs j ON j.seq = n.job
WHERE m.batch = ?1 GROUP BY j.state
