-- Locked: of two that find it, one gives it back. For writes only. Found by its number: `IS TRUE` keeps the planner from
-- looking through all permits that have lapsed.
SELECT pool, tenant FROM attempts WHERE seq = ?1 AND settled_at IS NOT NULL AND (permit_until <= ?2) IS TRUE
FOR UPDATE
