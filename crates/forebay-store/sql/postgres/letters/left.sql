-- How many are to be replayed: as `oldest` finds them.
SELECT count(*) FROM dead_letters d
WHERE d.tenant = :tenant AND d.state IN ('open', :or_state) AND d.seq > :after
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
