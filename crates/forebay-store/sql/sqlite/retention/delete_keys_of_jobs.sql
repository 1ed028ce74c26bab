-- Before the inputs, which name them. A key that another job has taken since is not theirs.
DELETE FROM idempotency_keys
WHERE (tenant, key, job_id) IN (
    SELECT i.tenant, i.idempotency_key, i.id FROM inputs i WHERE i.job IN (SELECT value FROM json_each(?1)) AND i.idempotency_key IS NOT NULL)
  AND expires_at <= ?2
