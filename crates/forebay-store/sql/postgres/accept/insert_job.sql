INSERT INTO jobs (
  seq, id, tenant, lane, task, kind, revision, state, state_version, fence, generation, step, attempts, deferrals,
  step_since, available_at, deadline, expires_at, priority, place, claimable, key_first, keeps_key, ordering_key,
  step_kind, pool, model, target, step_input, step_output, planned_at, updated_at, batch)
SELECT u.seq, u.id, u.tenant, u.lane, u.task, u.kind, u.revision, 'READY', 1, 0, 1, 1, 0, 0,
       u.available_at, u.available_at, u.deadline, u.deadline, u.priority, u.place, u.claimable, u.key_first,
       u.keeps_key, u.ordering_key, u.step_kind, u.pool, u.model, u.target, u.step_input, u.step_output, u.now, u.now,
       u.batch
FROM unnest(
  CAST(:seq AS bigint[]), CAST(:id AS uuid[]), CAST(:tenant AS bigint[]), CAST(:lane AS bigint[]),
  CAST(:task AS text[]), CAST(:kind AS text[]), CAST(:revision AS integer[]), CAST(:available_at AS bigint[]),
  CAST(:deadline AS bigint[]), CAST(:priority AS text[]), CAST(:place AS bigint[]), CAST(:claimable AS boolean[]),
  CAST(:key_first AS boolean[]), CAST(:keeps_key AS boolean[]), CAST(:ordering_key AS text[]),
  CAST(:step_kind AS text[]), CAST(:pool AS text[]), CAST(:model AS text[]), CAST(:target AS integer[]),
  CAST(:step_input AS bigint[]), CAST(:step_output AS bigint[]), CAST(:now AS bigint[]), CAST(:batch AS uuid[]))
  AS u (
    seq, id, tenant, lane, task, kind, revision, available_at, deadline, priority, place, claimable, key_first,
    keeps_key, ordering_key, step_kind, pool, model, target, step_input, step_output, now, batch)
