SELECT j.id, body, blob, request_digest, document, idempotency_key, series_key, series_version, not_before, replay_of,
       batch, created_at
FROM inputs i JOIN jobs j ON j.seq = i.job
