SELECT seq, tenant, job_id, type, state_version, at, body FROM events ORDER BY seq
