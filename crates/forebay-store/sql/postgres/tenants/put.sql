INSERT INTO tenants (name, max_pending_jobs, max_in_flight, budget_micros, budget_period, weight, created_at)
VALUES (:name, :max_pending_jobs, :max_in_flight, :budget_micros, :budget_period, :weight, :now)
ON CONFLICT (name) DO UPDATE SET
  max_pending_jobs = excluded.max_pending_jobs, max_in_flight = excluded.max_in_flight,
  budget_micros = excluded.budget_micros, budget_period = excluded.budget_period,
  weight = excluded.weight
