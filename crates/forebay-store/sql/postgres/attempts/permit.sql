-- Locked: of two that find it, one gives it back. For writes only. Found by its key: `IS TRUE` keeps the planner from
-- looking through all permits that have lapsed.
SELECT pool, tenant, lane, task, reserved_input + reserved_output FROM attempts
WHERE job = ?1 AND fence = ?2 AND settled_at IS NOT NULL AND (permit_until <= ?3) IS TRUE
FOR UPDATE
