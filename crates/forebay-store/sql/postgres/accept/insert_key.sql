INSERT INTO idempotency_keys (tenant, key, job_id, body_digest, expires_at)
SELECT u.tenant, u.key, u.job_id, u.body_digest, u.expires_at
FROM unnest(
  CAST(?1 AS bigint[]), CAST(?2 AS text[]), CAST(?3 AS uuid[]), CAST(?4 AS bytea[]), CAST(?5 AS bigint[]))
  AS u (tenant, key, job_id, body_digest, expires_at)
-- Whoever waits for another's key waits in this order.
ORDER BY u.tenant, u.key
-- Only an expired key gives way. A live one was taken by another process since this one looked: it stays, and the row
-- that is missing in the count says so. The time is the same for all rows.
ON CONFLICT (tenant, key) DO UPDATE SET
  job_id = excluded.job_id, body_digest = excluded.body_digest, expires_at = excluded.expires_at, ended = NULL
WHERE idempotency_keys.expires_at <= (CAST(?6 AS bigint[]))[1]
