-- A key outlives its job, and says how that has ended.
UPDATE idempotency_keys SET
  ended = (SELECT j.state FROM inputs i JOIN jobs j ON j.seq = i.job WHERE i.id = idempotency_keys.job_id)
WHERE (tenant, key, job_id) IN (
    SELECT i.tenant, i.idempotency_key, i.id FROM inputs i WHERE i.job IN (SELECT value FROM json_each(?1)) AND i.idempotency_key IS NOT NULL)
  AND expires_at > ?2
