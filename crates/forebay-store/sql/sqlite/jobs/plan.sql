-- The plan of the step that the job is at now.
UPDATE jobs SET
  step_kind = :kind, model = :model, target = :target, step_input = :input, step_output = :output, planned_at = :now
WHERE seq = :seq
