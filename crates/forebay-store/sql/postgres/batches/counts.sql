SELECT j.state, count(*)
FROM batch_members m JOIN jobs j ON j.id = ANY (ARRAY[m.job_id])
WHERE m.batch = ?1 GROUP BY j.state
