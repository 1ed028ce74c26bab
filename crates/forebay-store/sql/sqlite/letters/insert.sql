INSERT INTO dead_letters (job_id, tenant, seq, task, revision, class, created_at, failed_at, state, updated_at)
VALUES (:job_id, :tenant, :seq, :task, :revision, :class, :created_at, :now, 'open', :now)
