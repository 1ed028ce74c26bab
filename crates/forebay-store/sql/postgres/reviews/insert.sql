INSERT INTO reviews (
  job_id, generation, tenant, seq, opened_at, due_at, due_default, failure_class, failure_message, findings,
  output, output_blob, provenance)
VALUES (
  :job_id, :generation, :tenant, :seq, :now, :due_at, :due_default, :failure_class, :failure_message, :findings,
  :output, :output_blob, :provenance)
