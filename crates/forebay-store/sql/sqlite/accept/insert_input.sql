INSERT INTO inputs (
  job, id, tenant, body, blob, request_digest, document, idempotency_key, correlation_id, metadata, series_key,
  series_version, not_before, key_id, replay_of, created_at)
VALUES (
  :job, :id, :tenant, :body, :blob, :request_digest, :document, :idempotency_key, :correlation_id, :metadata, :series_key,
  :series_version, :not_before, :key_id, :replay_of, :created_at)
