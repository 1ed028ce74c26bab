-- The decision that the same key has made about the same version in the same words.
SELECT * FROM review_records
WHERE tenant = ?1 AND job_id = ?2 AND decided_version = ?3 AND decided_by IS NOT DISTINCT FROM CAST(?4 AS uuid)
  AND decision_digest = ?5
