-- The members first: by the index of the ids, which has the order that is asked for, all jobs would be read.
WITH members AS MATERIALIZED (SELECT DISTINCT job_id FROM batch_members WHERE batch = ?1)
SELECT n.id
FROM members m JOIN inputs n ON n.id = ANY (ARRAY[m.job_id]) JOIN jobs j ON j.seq = ANY (ARRAY[n.job])
WHERE j.finished_at IS NULL
ORDER BY m.job_id LIMIT ?2
