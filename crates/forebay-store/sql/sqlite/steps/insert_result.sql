INSERT INTO results (job, generation, output, output_blob, provenance, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
