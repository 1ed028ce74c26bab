-- Which ones the index says alone; only for those are rows looked at.
WITH found AS MATERIALIZED (
  SELECT d.job_id FROM dead_letters d
  WHERE d.tenant = :tenant AND d.state = :state AND d.seq < :before
    AND (CAST(:task AS text) IS NULL OR d.task = :task)
    AND (CAST(:class AS text) IS NULL OR d.class = :class)
    AND (CAST(:revision AS bigint) IS NULL OR d.revision = CAST(:revision AS bigint))
    AND (CAST(:owner AS text) IS NULL OR d.owner = :owner)
    AND (NOT CAST(:unowned AS boolean) OR d.owner IS NULL)
    AND d.failed_at >= :failed_after AND d.failed_at < :failed_before
    AND d.created_at >= :created_after AND d.created_at < :created_before
    -- Every wanted member of the metadata is there with its value.
    AND (CAST(:metadata AS text) = '{}' OR EXISTS (
      SELECT 1 FROM inputs i
      WHERE i.id = d.job_id AND searchable(i.metadata) @> searchable(:metadata)))
  ORDER BY d.seq DESC LIMIT :limit)
SELECT d.seq, d.state, d.owner, d.updated_at,
       (SELECT count(*) FROM dead_letter_notes n WHERE n.job_id = d.job_id), r.*
FROM found f JOIN dead_letters d ON d.job_id = f.job_id JOIN job_records r ON r.id = d.job_id
ORDER BY d.seq DESC
