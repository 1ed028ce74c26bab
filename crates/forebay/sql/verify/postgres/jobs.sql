SELECT id, seq, tenant, task, kind, revision, state, state_version, fence, generation, step, attempts, deferrals,
       available_at, lease_until, deadline, failure_class, failure_message, pool, claimable, key_first, keeps_key,
       ordering_key, input_tokens, output_tokens, cost_micros, uncertain_micros, updated_at, finished_at
FROM jobs ORDER BY seq
