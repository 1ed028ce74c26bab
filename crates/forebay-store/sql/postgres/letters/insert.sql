INSERT INTO dead_letters (job_id, tenant, seq, task, revision, class, created_at, failed_at, state, updated_at)
SELECT u.job_id, u.tenant, u.seq, u.task, u.revision, u.class, u.created_at, u.now, 'open', u.now
FROM unnest(
  CAST(:job_id AS uuid[]), CAST(:tenant AS bigint[]), CAST(:seq AS bigint[]), CAST(:task AS text[]),
  CAST(:revision AS integer[]), CAST(:class AS text[]), CAST(:created_at AS bigint[]), CAST(:now AS bigint[]))
  AS u (job_id, tenant, seq, task, revision, class, created_at, now)
