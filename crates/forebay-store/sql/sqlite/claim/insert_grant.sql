INSERT INTO grants (attempt_id, job_id, tenant, pool, lease_until) VALUES (?1, ?2, ?3, ?4, ?5)
