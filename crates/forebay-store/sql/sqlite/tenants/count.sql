-- Tenant 0 is all tenants together.
UPDATE tenant_load SET pending_jobs = pending_jobs + ?2, in_flight = in_flight + ?3 WHERE tenant = ?1
