SELECT job_id, generation, opened_at, due_at, findings, output, provenance, decided_at, decision, decided_by, comment
FROM reviews WHERE tenant = ?1 AND decided_at IS NULL
ORDER BY opened_at LIMIT ?2
