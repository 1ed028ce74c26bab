-- Before the inputs, which name them. A key that another job has taken since is not theirs.
DELETE FROM idempotency_keys k USING inputs i
WHERE i.job = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v)) AND k.tenant = i.tenant AND k.key = i.idempotency_key AND k.job_id = i.id AND k.expires_at <= ?2
