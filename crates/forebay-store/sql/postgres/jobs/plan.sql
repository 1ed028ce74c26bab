-- The plan of the step that the job is at now.
UPDATE jobs j SET
  step_kind = u.kind, model = u.model, target = u.target, step_input = u.input, step_output = u.output,
  planned_at = u.now
FROM unnest(
  CAST(:kind AS text[]), CAST(:model AS text[]), CAST(:target AS integer[]), CAST(:input AS bigint[]),
  CAST(:output AS bigint[]), CAST(:now AS bigint[]), CAST(:seq AS bigint[]))
  AS u (kind, model, target, input, output, now, seq)
WHERE j.seq = ANY (ARRAY[u.seq])
