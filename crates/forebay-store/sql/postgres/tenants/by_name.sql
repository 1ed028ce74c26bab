SELECT t.id, t.name, t.max_pending_jobs, t.max_in_flight, t.budget_micros, t.budget_period, t.weight,
       l.pending_jobs, l.in_flight, t.created_at
FROM tenants t CROSS JOIN LATERAL (SELECT * FROM tenant_load WHERE tenant = t.id OFFSET 0) l
WHERE t.name = ?1
