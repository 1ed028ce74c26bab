SELECT day, task, model, pool, attempts, input_tokens, output_tokens, cost_micros, uncertain_micros
FROM usage_days WHERE tenant = ?1 AND day BETWEEN ?2 AND ?3
ORDER BY day, task, model, pool
