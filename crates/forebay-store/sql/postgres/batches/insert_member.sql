INSERT INTO batch_members (batch, position, job_id, replay_of, replayed, status, problem)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
