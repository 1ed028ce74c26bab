-- A row that says another id or tenant than its job is none of it.
SELECT i.id, body, blob, request_digest, document, idempotency_key, series_key, series_version, not_before, replay_of,
       j.batch, i.created_at
FROM inputs i JOIN jobs j ON j.seq = i.job AND j.id = i.id AND j.tenant = i.tenant
