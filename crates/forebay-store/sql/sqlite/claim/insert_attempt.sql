INSERT INTO attempts (
  id, job_id, tenant, generation, step, number, fence, claim_id, worker, build, task, pool, model, claimed_at,
  reserved_input, reserved_output, reserved_micros, price_input, price_cached, price_output, budget_start)
VALUES (
  :id, :job_id, :tenant, :generation, :step,
  -- Numbered within its step, released and deferred ones included.
  (SELECT count(*) + 1 FROM attempts WHERE job_id = :job_id AND generation = :generation AND step = :step),
  :fence, :claim_id, :worker, :build, :task, :pool, :model, :claimed_at,
  :reserved_input, :reserved_output, :reserved_micros, :price_input, :price_cached, :price_output, :budget_start)
