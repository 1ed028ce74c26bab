-- Once: an attempt that is settled stays as it is.
UPDATE attempts a SET
  permit_until = CASE WHEN u.keep_permit THEN a.permit_until END,
  ended_at = u.now, settled_at = u.now, outcome = u.outcome, failure_class = u.failure_class, message = u.message,
  provider_request_id = u.provider_request_id, provider_model = u.provider_model,
  input_tokens = u.input_tokens, cached_tokens = u.cached_tokens,
  output_tokens = u.output_tokens, reasoning_tokens = u.reasoning_tokens,
  cost_micros = u.cost_micros, uncertain_micros = u.uncertain_micros, overage_micros = u.overage_micros
FROM unnest(
  CAST(:keep_permit AS boolean[]), CAST(:now AS bigint[]), CAST(:outcome AS text[]), CAST(:failure_class AS text[]),
  CAST(:message AS text[]), CAST(:provider_request_id AS text[]), CAST(:provider_model AS text[]),
  CAST(:input_tokens AS bigint[]), CAST(:cached_tokens AS bigint[]), CAST(:output_tokens AS bigint[]),
  CAST(:reasoning_tokens AS bigint[]), CAST(:cost_micros AS bigint[]), CAST(:uncertain_micros AS bigint[]),
  CAST(:overage_micros AS bigint[]), CAST(:job AS bigint[]), CAST(:fence AS bigint[]))
  AS u (
    keep_permit, now, outcome, failure_class, message, provider_request_id, provider_model, input_tokens,
    cached_tokens, output_tokens, reasoning_tokens, cost_micros, uncertain_micros, overage_micros, job, fence)
WHERE a.job = ANY (ARRAY[u.job]) AND a.fence = u.fence AND a.settled_at IS NULL
