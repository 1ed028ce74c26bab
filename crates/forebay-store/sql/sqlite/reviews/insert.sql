INSERT INTO reviews (job_id, generation, tenant, opened_at, due_at, findings, output, provenance)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
