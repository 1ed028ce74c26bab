INSERT INTO idempotency_keys (tenant, key, job_id, body_digest, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
-- Only an expired key can be here already.
ON CONFLICT (tenant, key) DO UPDATE SET
  job_id = excluded.job_id, body_digest = excluded.body_digest, expires_at = excluded.expires_at, ended = NULL
WHERE idempotency_keys.expires_at <= ?6
