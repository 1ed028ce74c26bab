-- Numbered within their step, released and deferred ones included.
SELECT a.id, a.generation, a.step, row_number() OVER (PARTITION BY a.generation, a.step ORDER BY a.fence), a.fence,
       a.worker, a.build, a.pool, a.model, a.claimed_at, a.ended_at, a.outcome,
       a.failure_class, a.message, a.input_tokens, a.cached_tokens, a.output_tokens, a.reasoning_tokens,
       a.reserved_input + a.reserved_output, a.reserved_micros, a.cost_micros, a.uncertain_micros, a.overage_micros,
       a.provider_request_id, a.provider_model, a.evidence
FROM inputs n JOIN attempts a ON a.job = n.job
WHERE n.tenant = ?1 AND n.id = ?2
ORDER BY a.fence
