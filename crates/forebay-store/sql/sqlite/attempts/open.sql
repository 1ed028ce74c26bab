SELECT job_id, tenant, task, pool, model, reserved_input, reserved_output, reserved_micros,
       price_input, price_cached, price_output, budget_start
FROM attempts WHERE id = ?1 AND settled_at IS NULL
