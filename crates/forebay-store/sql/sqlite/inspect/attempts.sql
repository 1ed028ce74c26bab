SELECT id, generation, step, number, fence, worker, build, pool, model, claimed_at, ended_at, outcome,
       failure_class, message, input_tokens, cached_tokens, output_tokens, reasoning_tokens,
       reserved_input + reserved_output, reserved_micros, cost_micros, uncertain_micros, overage_micros,
       provider_request_id, provider_model, evidence
FROM attempts WHERE tenant = ?1 AND job_id = ?2
ORDER BY generation, step, number
