SELECT pool, tenant FROM attempts WHERE seq = ?1 AND settled_at IS NOT NULL AND permit_until <= ?2
