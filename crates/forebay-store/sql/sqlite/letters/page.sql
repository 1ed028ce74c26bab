-- Which ones the index says alone; only for those are rows looked at.
WITH found AS MATERIALIZED (
  SELECT d.job_id FROM dead_letters d INDEXED BY dead_letters_by_state
  WHERE d.tenant = :tenant AND d.state = :state AND d.seq < :before
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
  ORDER BY d.seq DESC LIMIT :limit)
SELECT d.seq, d.state, d.owner, d.updated_at,
       (SELECT count(*) FROM dead_letter_notes n WHERE n.job_id = d.job_id), r.*
-- In this order, so that what was found leads.
FROM found f CROSS JOIN dead_letters d ON d.job_id = f.job_id CROSS JOIN job_records r ON r.id = d.job_id
ORDER BY d.seq DESC
