INSERT INTO steps (job_id, generation, number, kind, pool, model, target, input_tokens, output_tokens, planned_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
