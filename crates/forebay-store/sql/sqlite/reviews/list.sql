SELECT seq, job_id, generation, task, revision, state_version, failure_class, failure_message, opened_at, due_at, due_default,
       alerted_at, findings_count, finding_codes, has_output, claimed_by, claimed_name, claimed_until
FROM review_records r
WHERE r.tenant = :tenant AND r.decided_at IS NULL AND r.seq > :after
  AND (:task IS NULL OR r.task = :task)
  AND (:class IS NULL OR r.failure_class = :class)
  AND (:finding IS NULL OR EXISTS (SELECT 1 FROM json_each(r.finding_codes) f WHERE f.value = :finding))
  AND (:due_before IS NULL OR r.due_at < :due_before)
  AND (:opened_before IS NULL OR r.opened_at < :opened_before)
  -- Claims that have lapsed are none. Nobody's, or this key's.
  AND (NOT :unclaimed OR coalesce(r.claimed_until, 0) <= :now OR r.claimed_by = :or_by)
  AND (:only_by IS NULL OR (r.claimed_by = :only_by AND r.claimed_until > :now))
ORDER BY r.seq LIMIT :limit
