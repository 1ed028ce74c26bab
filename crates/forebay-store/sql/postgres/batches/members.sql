SELECT m.position, m.job_id, m.replay_of, m.replayed, m.status, m.problem
FROM batch_members m JOIN batches b ON b.id = m.batch
WHERE b.tenant = ?1 AND m.batch = ?2 ORDER BY m.position
