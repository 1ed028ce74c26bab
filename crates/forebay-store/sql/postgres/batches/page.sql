-- Tenant and number are compared together, so that other tenants' newer batches are not passed on the way. The index for
-- it wants to be asked for numbers above zero.
SELECT seq, id, tenant, kind, size, open, created_at, filled_at, cancelled_at, finished_at
FROM batches
WHERE (tenant, seq) < (CAST(?1 AS bigint), CAST(?2 AS bigint)) AND tenant >= ?1 AND seq > 0
ORDER BY tenant DESC, seq DESC LIMIT ?3
