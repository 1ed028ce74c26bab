UPDATE attempts a SET permit_until = u.until
FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS uuid[]), CAST(?4 AS bigint[]))
  AS u (job, fence, id, until)
WHERE a.job = ANY (ARRAY[u.job]) AND a.fence = u.fence AND a.id = u.id AND a.permit_until IS NOT NULL
