-- What a claim changes, and no more. The guard is what the row was when this transaction read it.
UPDATE jobs j SET
  state = u.state, state_version = u.state_version, fence = u.fence, attempts = u.attempts,
  lease_until = u.lease_until, claimable = false, updated_at = u.updated_at
FROM (
  -- Locked in the order of their numbers, as by everybody.
  SELECT * FROM unnest(
    CAST(:state AS text[]), CAST(:state_version AS bigint[]), CAST(:fence AS bigint[]), CAST(:attempts AS integer[]),
    CAST(:lease_until AS bigint[]), CAST(:updated_at AS bigint[]), CAST(:seq AS bigint[]),
    CAST(:was_fence AS bigint[]), CAST(:was_version AS bigint[]))
    AS u (state, state_version, fence, attempts, lease_until, updated_at, seq, was_fence, was_version)
  ORDER BY u.seq) u
WHERE j.seq = ANY (ARRAY[u.seq]) AND j.fence = u.was_fence AND j.state_version = u.was_version
