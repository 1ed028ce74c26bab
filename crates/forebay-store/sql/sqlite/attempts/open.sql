-- As its owner names it: a report that mixes attempts up settles none.
SELECT tenant, task, pool, model, reserved_input, reserved_output, reserved_micros,
       price_input, price_cached, price_output, budget_start
FROM attempts WHERE id = ?1 AND job_id = ?2 AND fence = ?3 AND settled_at IS NULL
