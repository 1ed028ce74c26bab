INSERT INTO jobs (
  id, seq, tenant, task, kind, revision, state, state_version, fence, generation, step, attempts, deferrals,
  step_since, available_at, deadline, priority, pool, place, claimable, key_first, ordering_key, updated_at)
VALUES (
  :id, :seq, :tenant, :task, :kind, :revision, 'READY', 1, 0, 1, 1, 0, 0,
  :available_at, :available_at, :deadline, :priority, :pool, :place, :claimable, :key_first, :ordering_key, :now)
