UPDATE tenant_load SET pending_jobs = pending_jobs - 1 WHERE tenant IN (0, ?1)
