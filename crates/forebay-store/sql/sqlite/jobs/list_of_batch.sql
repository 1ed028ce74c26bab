-- A batch has so few members that reading all of them is less than looking for them among all jobs.
SELECT r.* FROM job_records r
WHERE r.tenant = :tenant AND r.seq < :before
  AND r.id IN (SELECT m.job_id FROM batch_members m WHERE m.batch = :batch)
  AND (:state IS NULL OR r.state = :state)
  AND (:task IS NULL OR r.task = :task)
  AND r.created_at >= :created_after
  -- Every wanted member is there with its value.
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:metadata) wanted
    WHERE NOT EXISTS (
      SELECT 1 FROM json_each(coalesce(r.metadata, '{}')) has
      WHERE has.key = wanted.key AND has.value = wanted.value))
ORDER BY r.seq DESC LIMIT :limit
