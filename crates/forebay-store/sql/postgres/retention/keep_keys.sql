-- A key outlives its job, and says how that has ended.
UPDATE idempotency_keys k SET ended = j.state
FROM inputs i JOIN jobs j ON j.seq = i.job
WHERE i.job = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v)) AND k.tenant = i.tenant AND k.key = i.idempotency_key AND k.job_id = i.id AND k.expires_at > ?2
