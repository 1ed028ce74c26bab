SELECT r.*, o.output, o.output_blob
FROM review_records r LEFT JOIN inputs n ON n.id = r.job_id LEFT JOIN jobs j ON j.seq = n.job
  LEFT JOIN results o ON o.job = j.seq AND o.generation = r.generation
-- By persons: what a due time decided is nobody's judgement.
WHERE r.tenant = :tenant AND r.decided_seq > :after AND r.decided_by IS NOT NULL
  AND (CAST(:task AS text) IS NULL OR r.task = :task)
  AND (CAST(:decision AS text) IS NULL OR r.decision = :decision)
  AND (CAST(:since AS bigint) IS NULL OR r.decided_at >= :since)
  AND (CAST(:until AS bigint) IS NULL OR r.decided_at < :until)
ORDER BY r.decided_seq LIMIT :limit
