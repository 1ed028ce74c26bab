-- Once: an attempt that is settled stays as it is.
UPDATE attempts SET
  permit_until = CASE WHEN :keep_permit THEN permit_until END,
  ended_at = :now, settled_at = :now, outcome = :outcome, failure_class = :failure_class, message = :message,
  provider_request_id = :provider_request_id, provider_model = :provider_model,
  input_tokens = :input_tokens, cached_tokens = :cached_tokens,
  output_tokens = :output_tokens, reasoning_tokens = :reasoning_tokens,
  cost_micros = :cost_micros, uncertain_micros = :uncertain_micros, overage_micros = :overage_micros
WHERE job = :job AND fence = :fence AND settled_at IS NULL
