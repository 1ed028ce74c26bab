SELECT d.task, d.class, count(*), min(d.failed_at), max(d.failed_at)
-- Its order is that of the groups, and it has all that is asked for.
FROM dead_letters d INDEXED BY dead_letters_by_group
WHERE d.tenant = :tenant AND d.state = :state
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
GROUP BY d.task, d.class
ORDER BY count(*) DESC, d.task, d.class
