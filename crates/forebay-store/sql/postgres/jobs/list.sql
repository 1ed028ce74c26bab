SELECT r.* FROM job_records r
-- Tenant and number are compared together, so that other tenants' newer jobs are not passed on the way. The index for it
-- wants to be asked for numbers above zero.
WHERE (r.tenant, r.seq) < (CAST(:tenant AS bigint), CAST(:before AS bigint)) AND r.tenant >= :tenant AND r.seq > 0
  AND (CAST(:state AS text) IS NULL OR r.state = :state)
  AND (CAST(:task AS text) IS NULL OR r.task = :task)
  AND r.created_at >= :created_after
  -- Every wanted member is there with its value.
  AND searchable(coalesce(r.metadata, '{}')) @> searchable(:metadata)
ORDER BY r.tenant DESC, r.seq DESC LIMIT :limit
