SELECT j.id, j.tenant, j.task, j.revision, j.generation, j.step, s.kind, s.model, s.output_tokens, j.deadline,
       i.body, i.blob, i.document
FROM jobs j
JOIN inputs i ON i.job_id = j.id
JOIN steps s ON s.job_id = j.id AND s.generation = j.generation AND s.number = j.step
WHERE j.id = ?1
