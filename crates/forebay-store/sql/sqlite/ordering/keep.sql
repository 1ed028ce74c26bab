INSERT INTO kept_keys (tenant, task, ordering_key, first_job, latest_job, kept_at) VALUES (?1, ?2, ?3, ?4, ?4, ?5)
