SELECT s.generation, s.number, s.kind, s.pool, s.model, s.input_tokens, s.output_tokens, s.planned_at,
       s.finished_at,
       (SELECT count(*) FROM attempts a
        WHERE a.job_id = s.job_id AND a.generation = s.generation AND a.step = s.number),
       s.entry, s.entry_blob
FROM steps s JOIN jobs j ON j.id = s.job_id
WHERE j.tenant = ?1 AND s.job_id = ?2
ORDER BY s.generation, s.number
