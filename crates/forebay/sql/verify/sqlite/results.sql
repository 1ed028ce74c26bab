SELECT job_id, generation, output, provenance, created_at FROM results
