INSERT INTO jobs (
  seq, id, tenant, lane, task, kind, revision, state, state_version, fence, generation, step, attempts, deferrals,
  step_since, available_at, deadline, expires_at, priority, place, claimable, key_first, keeps_key, ordering_key,
  step_kind, pool, model, target, step_input, step_output, planned_at, updated_at, batch)
VALUES (
  :seq, :id, :tenant, :lane, :task, :kind, :revision, 'READY', 1, 0, 1, 1, 0, 0,
  :available_at, :available_at, :deadline, :deadline, :priority, :place, :claimable, :key_first, :keeps_key,
  :ordering_key, :step_kind, :pool, :model, :target, :step_input, :step_output, :now, :now, :batch)
