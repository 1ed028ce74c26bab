-- Nothing is locked: everybody's row would hold up every other process until the commit. A limit that was looked at
-- here holds still when the row is written (see tenants/count).
SELECT l.pending_jobs, t.max_pending_jobs, (SELECT pending_jobs FROM tenant_load WHERE tenant = 0)
FROM tenants t CROSS JOIN LATERAL (SELECT * FROM tenant_load WHERE tenant = t.id OFFSET 0) l
WHERE t.id = ?1
