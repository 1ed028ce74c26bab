SELECT seq, id, tenant, kind, size, open, created_at, filled_at, cancelled_at, finished_at
FROM batches WHERE tenant = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3
