-- What is to be replayed next, oldest failure first. One that was replayed is among them where it is asked for.
-- Each state is walked through in its order and no further than is asked for; both at once would be sorted first.
SELECT found.seq, found.job_id
FROM (SELECT 'open' UNION SELECT CAST(:or_state AS text)) s (state)
CROSS JOIN LATERAL (
  SELECT d.seq, d.job_id FROM dead_letters d
  WHERE d.tenant = :tenant AND d.state = s.state AND d.seq > :after
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
  ORDER BY d.seq LIMIT :limit) found
ORDER BY found.seq LIMIT :limit
