SELECT l.in_flight, t.max_in_flight 
FROM tenants t CROSS JOIN LATERAL (SELECT * FROM tenant_load WHERE tenant = t.id OFFSET 0) l
WHERE t.id = ?1
