SELECT pool, tenant, lane, task, reserved_input + reserved_output FROM attempts
WHERE job = ?1 AND fence = ?2 AND settled_at IS NOT NULL AND permit_until <= ?3
