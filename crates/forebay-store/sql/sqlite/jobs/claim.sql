-- What a claim changes, and no more: the indexes of the other columns stay as they are. The guard is what the row was
-- when this transaction read it.
UPDATE jobs SET
  state = :state, state_version = :state_version, fence = :fence, attempts = :attempts, lease_until = :lease_until,
  claimable = 0, updated_at = :updated_at
WHERE seq = :seq AND fence = :was_fence AND state_version = :was_version
