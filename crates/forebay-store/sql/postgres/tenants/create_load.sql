INSERT INTO tenant_load (tenant) SELECT id FROM tenants WHERE name = ?1 ON CONFLICT (tenant) DO NOTHING
