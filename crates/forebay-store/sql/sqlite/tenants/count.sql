-- Tenant 0 is all tenants together. A limit that was looked at before holds still.
UPDATE tenant_load SET pending_jobs = pending_jobs + ?2, in_flight = in_flight + ?3
WHERE tenant = ?1 AND (?4 IS NULL OR pending_jobs + ?2 <= ?4) AND (?5 IS NULL OR in_flight + ?3 <= ?5)
