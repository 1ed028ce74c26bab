UPDATE attempts a SET permit_until = NULL
FROM unnest(CAST(?1 AS bigint[])) AS u (seq)
WHERE a.seq = ANY (ARRAY[u.seq]) AND a.permit_until IS NOT NULL
