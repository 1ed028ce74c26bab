-- The counter of tenant 0 is that of all tenants together; it has no row in tenants.
SELECT l.tenant, coalesce(t.name, ''), t.max_pending_jobs, t.budget_micros, coalesce(t.budget_period, ''),
       l.pending_jobs, l.in_flight
FROM tenant_load l LEFT JOIN tenants t ON t.id = l.tenant
