INSERT INTO fingerprints (tenant, task, fingerprint, job_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
-- Whoever came first keeps it.
ON CONFLICT (tenant, task, fingerprint) DO NOTHING
