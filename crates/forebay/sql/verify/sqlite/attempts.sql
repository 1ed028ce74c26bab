-- In the order in which they were claimed: a claim raises the fence.
SELECT id, job_id, tenant, generation, step, number, fence, worker, build, task, pool, model, claimed_at, settled_at,
       outcome, failure_class, message, reserved_input, reserved_output, reserved_micros, price_input, price_cached,
       price_output, budget_start, input_tokens, cached_tokens, output_tokens, cost_micros, uncertain_micros,
       overage_micros, evidence
FROM attempts ORDER BY job_id, fence
