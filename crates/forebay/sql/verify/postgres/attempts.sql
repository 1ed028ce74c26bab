-- In the order in which they were claimed: a claim raises the fence.
SELECT a.id, j.id, a.tenant, a.generation, a.step,
       row_number() OVER (PARTITION BY a.job, a.generation, a.step ORDER BY a.fence), a.fence,
       a.worker, a.build, a.task, a.pool, a.model, a.claimed_at, a.settled_at,
       a.outcome, a.failure_class, a.message, a.reserved_input, a.reserved_output, a.reserved_micros, a.price_input,
       a.price_cached, a.price_output, a.budget_start, a.input_tokens, a.cached_tokens, a.output_tokens, a.cost_micros,
       a.uncertain_micros, a.overage_micros, a.evidence
FROM attempts a JOIN jobs j ON j.seq = a.job
ORDER BY j.id, a.fence
