-- Tenant 0 is all tenants together. A limit that was looked at before holds still. One row has it all here, whatever `?2`
-- says.
UPDATE tenant_load SET pending_jobs = pending_jobs + ?3, in_flight = in_flight + ?4
WHERE tenant = ?1 AND ?2 > 0
  AND (?5 IS NULL OR pending_jobs + ?3 <= ?5) AND (?6 IS NULL OR in_flight + ?4 <= ?6)
