-- The current step as it is left: with its entry, or, where a new generation begins, as it was. It is read from the
-- job's row, so that this is written before whatever moves the job on.
INSERT INTO steps (
  job, generation, number, kind, pool, model, target, input_tokens, output_tokens, planned_at, finished_at, entry,
  entry_blob)
SELECT j.seq, j.generation, j.step, j.step_kind, j.pool, j.model, j.target, j.step_input, j.step_output, j.planned_at,
       u.finished_at, u.entry, u.entry_blob
FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bytea[]), CAST(?4 AS bytea[]))
  AS u (job, finished_at, entry, entry_blob)
JOIN jobs j ON j.seq = ANY (ARRAY[u.job])
-- A step that a review had left stays as it is.
ON CONFLICT DO NOTHING
