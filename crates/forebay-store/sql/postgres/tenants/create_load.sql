INSERT INTO tenant_counts (tenant, part)
SELECT t.id, p.part FROM tenants t CROSS JOIN (VALUES (1), (2), (3)) AS p (part) WHERE t.name = ?1
ON CONFLICT DO NOTHING
