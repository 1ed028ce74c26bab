SELECT j.id, j.tenant, j.task, j.revision, j.generation, j.step, j.step_kind, j.model, j.step_output, j.deadline,
       i.body, i.blob, i.document
FROM inputs i JOIN jobs j ON j.seq = ANY (ARRAY[i.job])
WHERE i.id = ANY (CAST(?1 AS uuid[]))
