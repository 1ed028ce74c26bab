SELECT seq, job_id, generation, task, revision, state_version, failure_class, failure_message, opened_at, due_at,
       due_default, alerted_at, findings_count, finding_codes, has_output, claimed_by, claimed_name, claimed_until
FROM review_records r
WHERE r.tenant = :tenant AND r.decided_at IS NULL AND r.seq > :after
  AND (CAST(:task AS text) IS NULL OR r.task = :task)
  AND (CAST(:class AS text) IS NULL OR r.failure_class = :class)
  -- One of the codes.
  AND (CAST(:finding AS text) IS NULL OR CAST(r.finding_codes AS jsonb) @> to_jsonb(CAST(:finding AS text)))
  AND (CAST(:due_before AS bigint) IS NULL OR r.due_at < :due_before)
  AND (CAST(:opened_before AS bigint) IS NULL OR r.opened_at < :opened_before)
  -- Claims that have lapsed are none. Nobody's, or this key's.
  AND (NOT CAST(:unclaimed AS boolean) OR coalesce(r.claimed_until, 0) <= :now OR r.claimed_by = :or_by)
  AND (CAST(:only_by AS uuid) IS NULL OR (r.claimed_by = :only_by AND r.claimed_until > :now))
ORDER BY r.seq LIMIT :limit
