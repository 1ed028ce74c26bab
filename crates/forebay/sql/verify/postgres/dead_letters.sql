SELECT job_id, tenant, seq, class, failed_at, state FROM dead_letters
