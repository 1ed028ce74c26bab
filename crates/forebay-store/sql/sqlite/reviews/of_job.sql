SELECT job_id, generation, opened_at, due_at, findings, output, provenance, decided_at, decision, decided_by, comment
FROM reviews WHERE tenant = ?1 AND job_id = ?2
ORDER BY generation DESC LIMIT 1
