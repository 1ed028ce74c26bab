SELECT m.position, m.job_id, m.replay_of, m.replayed, m.status, m.problem
FROM batch_members m WHERE m.batch = ?1 AND m.position = ?2
