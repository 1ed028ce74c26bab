-- As `load`, for several tenants, each before its numbers.
SELECT t.id, l.pending_jobs, t.max_pending_jobs, (SELECT pending_jobs FROM tenant_load WHERE tenant = 0)
FROM unnest(CAST(?1 AS bigint[])) AS u (tenant)
JOIN tenants t ON t.id = ANY (ARRAY[u.tenant])
CROSS JOIN LATERAL (SELECT * FROM tenant_load WHERE tenant = t.id OFFSET 0) l
