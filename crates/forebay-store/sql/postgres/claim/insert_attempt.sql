INSERT INTO attempts (
  id, job, fence, tenant, lane, generation, step, claim_id, worker, build, task, pool, model, claimed_at, permit_until,
  reserved_input, reserved_output, reserved_micros, price_input, price_cached, price_output, budget_start)
SELECT *
FROM unnest(
  CAST(:id AS uuid[]), CAST(:job AS bigint[]), CAST(:fence AS bigint[]), CAST(:tenant AS bigint[]),
  CAST(:lane AS bigint[]), CAST(:generation AS integer[]), CAST(:step AS integer[]), CAST(:claim_id AS uuid[]),
  CAST(:worker AS text[]), CAST(:build AS text[]), CAST(:task AS text[]), CAST(:pool AS text[]),
  CAST(:model AS text[]), CAST(:claimed_at AS bigint[]), CAST(:permit_until AS bigint[]), CAST(:reserved_input AS bigint[]),
  CAST(:reserved_output AS bigint[]), CAST(:reserved_micros AS bigint[]), CAST(:price_input AS bigint[]),
  CAST(:price_cached AS bigint[]), CAST(:price_output AS bigint[]), CAST(:budget_start AS bigint[]))
