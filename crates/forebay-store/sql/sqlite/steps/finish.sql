-- The current step as it is left: with its entry, or, where a new generation begins, as it was.
INSERT INTO steps (
  job, generation, number, kind, pool, model, target, input_tokens, output_tokens, planned_at, finished_at, entry,
  entry_blob)
SELECT seq, generation, step, step_kind, pool, model, target, step_input, step_output, planned_at, ?2, ?3, ?4
FROM jobs WHERE seq = ?1
ON CONFLICT DO NOTHING
