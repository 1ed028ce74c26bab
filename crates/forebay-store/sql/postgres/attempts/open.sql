SELECT id, tenant, lane, task, pool, model, reserved_input, reserved_output, reserved_micros,
       price_input, price_cached, price_output, budget_start, permit_until IS NOT NULL, claimed_at
FROM attempts WHERE job = ?1 AND fence = ?2 AND settled_at IS NULL
