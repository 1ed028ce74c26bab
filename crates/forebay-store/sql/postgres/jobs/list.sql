SELECT r.* FROM job_records r
WHERE r.tenant = :tenant AND r.seq < :before
  AND (CAST(:state AS text) IS NULL OR r.state = :state)
  AND (CAST(:task AS text) IS NULL OR r.task = :task)
  AND r.created_at >= :created_after
  -- Every wanted member is there with its value. Stored metadata has no NUL, which the type jsonb does not know; what
  -- asks for one finds nothing.
  AND (CAST(:metadata AS text) = '{}' OR CASE
    WHEN CAST(:metadata AS text) ~ '(^|[^\\])(\\\\)*\\u0000' THEN false
    ELSE CAST(r.metadata AS jsonb) @> CAST(:metadata AS jsonb) END)
ORDER BY r.seq DESC LIMIT :limit
