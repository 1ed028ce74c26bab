-- What is deleted stays in the sums: an account and a day are what is here and what the attempts say.
INSERT INTO deleted_usage (
  tenant, day, task, model, pool, attempts, input_tokens, output_tokens, cost_micros, uncertain_micros)
SELECT a.tenant, a.settled_at - a.settled_at % 86400000, a.task, a.model, a.pool, count(*),
       -- Where nothing was billed for certain, what the provider may have reported is no use.
       sum(CASE WHEN a.outcome IN ('succeeded', 'failed_after_send') THEN coalesce(a.input_tokens, 0) ELSE 0 END),
       sum(CASE WHEN a.outcome IN ('succeeded', 'failed_after_send') THEN coalesce(a.output_tokens, 0) ELSE 0 END),
       sum(coalesce(a.cost_micros, 0)), sum(coalesce(a.uncertain_micros, 0))
FROM attempts a
WHERE a.job = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v))
GROUP BY a.tenant, a.settled_at - a.settled_at % 86400000, a.task, a.model, a.pool
ON CONFLICT (tenant, day, task, model, pool) DO UPDATE SET
  attempts = deleted_usage.attempts + excluded.attempts,
  input_tokens = deleted_usage.input_tokens + excluded.input_tokens,
  output_tokens = deleted_usage.output_tokens + excluded.output_tokens,
  cost_micros = deleted_usage.cost_micros + excluded.cost_micros,
  uncertain_micros = deleted_usage.uncertain_micros + excluded.uncertain_micros
