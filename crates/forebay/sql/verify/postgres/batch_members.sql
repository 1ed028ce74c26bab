SELECT batch, position, job_id, replay_of FROM batch_members ORDER BY batch, position
