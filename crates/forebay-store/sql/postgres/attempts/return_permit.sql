UPDATE attempts a SET permit_until = NULL
FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[])) AS u (job, fence)
WHERE a.job = ANY (ARRAY[u.job]) AND a.fence = u.fence AND a.permit_until IS NOT NULL
