-- What is to be replayed next, oldest failure first. One that was replayed is among them where it is asked for.
SELECT d.seq, d.job_id FROM dead_letters d
WHERE d.tenant = :tenant AND d.state IN ('open', :or_state) AND d.seq > :after
  AND (:task IS NULL OR d.task = :task)
  AND (:class IS NULL OR d.class = :class)
  AND (:revision IS NULL OR d.revision = :revision)
  AND (:owner IS NULL OR d.owner = :owner)
  AND (NOT :unowned OR d.owner IS NULL)
  AND d.failed_at >= :failed_after AND d.failed_at < :failed_before
  AND d.created_at >= :created_after AND d.created_at < :created_before
  -- Every wanted member of the metadata is there with its value.
  AND (:metadata = '{}' OR NOT EXISTS (
    SELECT 1 FROM json_each(:metadata) wanted
    WHERE NOT EXISTS (
      SELECT 1 FROM inputs i, json_each(coalesce(i.metadata, '{}')) has
      WHERE i.id = d.job_id AND has.key = wanted.key AND has.value = wanted.value)))
ORDER BY d.seq LIMIT :limit
