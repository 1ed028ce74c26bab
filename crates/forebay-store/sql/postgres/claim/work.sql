SELECT j.id, j.tenant, j.task, j.revision, j.generation, j.step, j.step_kind, j.model, j.step_output, j.deadline,
       i.body, i.blob, i.document
FROM jobs j JOIN inputs i ON i.job = j.seq
WHERE j.id = ?1
