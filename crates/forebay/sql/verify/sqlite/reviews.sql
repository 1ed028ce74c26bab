SELECT job_id, generation, opened_at, due_at, output IS NOT NULL, decided_at, decision, decided_by
FROM reviews ORDER BY job_id, generation
