SELECT tenant, day, task, model, pool, attempts, input_tokens, output_tokens, cost_micros, uncertain_micros
FROM deleted_usage
