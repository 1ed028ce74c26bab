INSERT INTO inputs (
  job, id, tenant, body, blob, request_digest, document, idempotency_key, correlation_id, metadata, series_key,
  series_version, not_before, key_id, replay_of, created_at)
SELECT *
FROM unnest(
  CAST(:job AS bigint[]), CAST(:id AS uuid[]), CAST(:tenant AS bigint[]), CAST(:body AS bytea[]), CAST(:blob AS bytea[]), CAST(:request_digest AS bytea[]),
  CAST(:document AS bytea[]), CAST(:idempotency_key AS text[]), CAST(:correlation_id AS text[]),
  CAST(:metadata AS text[]), CAST(:series_key AS text[]), CAST(:series_version AS bigint[]),
  CAST(:not_before AS bigint[]), CAST(:key_id AS uuid[]), CAST(:replay_of AS uuid[]),
  CAST(:created_at AS bigint[]))
