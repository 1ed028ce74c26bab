-- The guard is what the row was when this transaction read it.
UPDATE jobs j SET
  state = u.state, state_version = u.state_version, fence = u.fence, generation = u.generation, step = u.step,
  attempts = u.attempts, deferrals = u.deferrals, step_since = u.step_since, available_at = u.available_at,
  lease_until = u.lease_until, deadline = u.deadline, expires_at = u.expires_at, failure_class = u.failure_class,
  failure_message = u.failure_message, pool = u.pool, place = u.place, claimable = u.claimable,
  input_tokens = u.input_tokens, output_tokens = u.output_tokens,
  cost_micros = u.cost_micros, uncertain_micros = u.uncertain_micros,
  updated_at = u.updated_at, finished_at = u.finished_at
FROM (
  -- Locked in the order of their numbers, as by everybody.
  SELECT * FROM unnest(
    CAST(:state AS text[]), CAST(:state_version AS bigint[]), CAST(:fence AS bigint[]), CAST(:generation AS integer[]),
    CAST(:step AS integer[]), CAST(:attempts AS integer[]), CAST(:deferrals AS integer[]), CAST(:step_since AS bigint[]),
    CAST(:available_at AS bigint[]), CAST(:lease_until AS bigint[]), CAST(:deadline AS bigint[]),
    CAST(:expires_at AS bigint[]), CAST(:failure_class AS text[]), CAST(:failure_message AS text[]),
    CAST(:pool AS text[]), CAST(:place AS bigint[]), CAST(:claimable AS boolean[]), CAST(:input_tokens AS bigint[]),
    CAST(:output_tokens AS bigint[]), CAST(:cost_micros AS bigint[]), CAST(:uncertain_micros AS bigint[]),
    CAST(:updated_at AS bigint[]), CAST(:finished_at AS bigint[]), CAST(:seq AS bigint[]), CAST(:was_fence AS bigint[]),
    CAST(:was_version AS bigint[]))
    AS u (
      state, state_version, fence, generation, step, attempts, deferrals, step_since, available_at, lease_until,
      deadline, expires_at, failure_class, failure_message, pool, place, claimable, input_tokens, output_tokens,
      cost_micros, uncertain_micros, updated_at, finished_at, seq, was_fence, was_version)
  ORDER BY u.seq) u
WHERE j.seq = ANY (ARRAY[u.seq]) AND j.fence = u.was_fence AND j.state_version = u.was_version
