SELECT job_id FROM fingerprints WHERE tenant = ?1 AND task = ?2 AND fingerprint = ?3
