INSERT INTO attempts (
  id, job, fence, tenant, lane, generation, step, claim_id, worker, build, task, pool, model, claimed_at, permit_until,
  reserved_input, reserved_output, reserved_micros, price_input, price_cached, price_output, budget_start)
VALUES (
  :id, :job, :fence, :tenant, :lane, :generation, :step, :claim_id, :worker, :build, :task, :pool, :model, :claimed_at,
  :permit_until, :reserved_input, :reserved_output, :reserved_micros, :price_input, :price_cached, :price_output,
  :budget_start)
