SELECT tenant, key, job_id, body_digest, expires_at FROM idempotency_keys
