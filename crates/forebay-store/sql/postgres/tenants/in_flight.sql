SELECT l.in_flight, t.max_in_flight FROM tenants t JOIN tenant_load l ON l.tenant = t.id WHERE t.id = ?1
