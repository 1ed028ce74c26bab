SELECT attempt_id, job_id, tenant, pool, lease_until FROM grants
