SELECT tenant, key, job_id, body_digest, expires_at, ended FROM idempotency_keys
