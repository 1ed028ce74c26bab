INSERT INTO kept_keys (tenant, task, ordering_key, first_job, latest_job, kept_at)
SELECT u.tenant, u.task, u.ordering_key, u.job, u.job, u.now
FROM unnest(
  CAST(?1 AS bigint[]), CAST(?2 AS text[]), CAST(?3 AS text[]), CAST(?4 AS uuid[]), CAST(?5 AS bigint[]))
  AS u (tenant, task, ordering_key, job, now)
