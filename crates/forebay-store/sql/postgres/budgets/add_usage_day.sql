INSERT INTO usage_days (
  tenant, day, task, model, pool, attempts, input_tokens, output_tokens, cost_micros, uncertain_micros)
SELECT *
FROM unnest(
  CAST(:tenant AS bigint[]), CAST(:day AS bigint[]), CAST(:task AS text[]), CAST(:model AS text[]),
  CAST(:pool AS text[]), CAST(:attempts AS bigint[]), CAST(:input_tokens AS bigint[]),
  CAST(:output_tokens AS bigint[]), CAST(:cost_micros AS bigint[]), CAST(:uncertain_micros AS bigint[]))
  AS u (tenant, day, task, model, pool, attempts, input_tokens, output_tokens, cost_micros, uncertain_micros)
-- Locked in the order of their key, as by everybody.
ORDER BY u.tenant, u.day, u.task, u.model, u.pool
ON CONFLICT (tenant, day, task, model, pool) DO UPDATE SET
  attempts = usage_days.attempts + excluded.attempts,
  input_tokens = usage_days.input_tokens + excluded.input_tokens,
  output_tokens = usage_days.output_tokens + excluded.output_tokens,
  cost_micros = usage_days.cost_micros + excluded.cost_micros,
  uncertain_micros = usage_days.uncertain_micros + excluded.uncertain_micros
