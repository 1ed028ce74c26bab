SELECT name FROM tenants ORDER BY name
