-- Locked: of two that find it, one gives it back. For writes only.
SELECT pool, tenant FROM attempts WHERE seq = ?1 AND settled_at IS NOT NULL AND permit_until <= ?2
FOR UPDATE
