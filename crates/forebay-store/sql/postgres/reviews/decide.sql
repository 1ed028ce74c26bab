-- Once. Whoever held it holds it no longer.
UPDATE reviews SET
  decided_at = :now, decision = :decision, decided_by = :by, decided_name = :name, comment = :comment,
  decided_version = :seen, decision_digest = :digest, decided_findings = :findings, decided_seq = :seq,
  claimed_by = NULL, claimed_name = NULL, claimed_until = NULL
WHERE job_id = :job_id AND generation = :generation AND decided_at IS NULL
