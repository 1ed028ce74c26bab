-- The journal, and the step that the job is at.
SELECT s.generation, s.number, s.kind, s.pool, s.model, s.input_tokens, s.output_tokens, s.planned_at, s.finished_at,
       (SELECT count(*) FROM attempts a
        WHERE a.job = j.seq AND a.generation = s.generation AND a.step = s.number),
       s.entry, s.entry_blob
FROM inputs n JOIN jobs j ON j.seq = n.job JOIN steps s ON s.job = j.seq
WHERE n.tenant = ?1 AND n.id = ?2
UNION ALL
SELECT j.generation, j.step, j.step_kind, j.pool, j.model, j.step_input, j.step_output, j.planned_at, NULL,
       (SELECT count(*) FROM attempts a
        WHERE a.job = j.seq AND a.generation = j.generation AND a.step = j.step),
       NULL, NULL
FROM inputs n JOIN jobs j ON j.seq = n.job
WHERE n.tenant = ?1 AND n.id = ?2
  AND NOT EXISTS (
    SELECT 1 FROM steps s WHERE s.job = j.seq AND s.generation = j.generation AND s.number = j.step)
ORDER BY 1, 2
