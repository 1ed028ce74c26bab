-- A batch has so few members that reading all of them is less than looking for them among all jobs.
SELECT r.* FROM job_records r
WHERE r.tenant = :tenant AND r.seq < :before
  AND r.id IN (SELECT m.job_id FROM batch_members m WHERE m.batch = :batch)
  AND (CAST(:state AS text) IS NULL OR r.state = :state)
  AND (CAST(:task AS text) IS NULL OR r.task = :task)
  AND r.created_at >= :created_after
  -- Every wanted member is there with its value.
  AND searchable(coalesce(r.metadata, '{}')) @> searchable(:metadata)
ORDER BY r.seq DESC LIMIT :limit
