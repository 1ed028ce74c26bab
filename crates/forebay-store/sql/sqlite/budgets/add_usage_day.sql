INSERT INTO usage_days (
  tenant, day, task, model, pool, attempts, input_tokens, output_tokens, cost_micros, uncertain_micros)
VALUES (
  :tenant, :day, :task, :model, :pool, :attempts, :input_tokens, :output_tokens, :cost_micros, :uncertain_micros)
ON CONFLICT (tenant, day, task, model, pool) DO UPDATE SET
  attempts = attempts + excluded.attempts,
  input_tokens = input_tokens + excluded.input_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  cost_micros = cost_micros + excluded.cost_micros,
  uncertain_micros = uncertain_micros + excluded.uncertain_micros
