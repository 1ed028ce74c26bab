-- The guard is what the row was when this transaction read it.
UPDATE jobs SET
  state = :state, state_version = :state_version, fence = :fence, generation = :generation, step = :step,
  attempts = :attempts, deferrals = :deferrals, step_since = :step_since, available_at = :available_at,
  lease_until = :lease_until, deadline = :deadline, expires_at = :expires_at, failure_class = :failure_class,
  failure_message = :failure_message, pool = :pool, place = :place, claimable = :claimable,
  input_tokens = :input_tokens, output_tokens = :output_tokens,
  cost_micros = :cost_micros, uncertain_micros = :uncertain_micros,
  updated_at = :updated_at, finished_at = :finished_at
WHERE seq = :seq AND fence = :was_fence AND state_version = :was_version
