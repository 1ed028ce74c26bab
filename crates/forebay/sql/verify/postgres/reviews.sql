SELECT job_id, generation, opened_at, due_at, due_default, alerted_at, output,
       output IS NOT NULL OR output_blob IS NOT NULL, decided_at, decision, decided_by, decided_version, decided_seq
FROM reviews ORDER BY job_id, generation
