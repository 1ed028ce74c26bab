SELECT id FROM tenants WHERE id = ?1
