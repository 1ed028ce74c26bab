UPDATE jobs j SET lease_until = u.until
FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[])) AS u (seq, fence, until)
WHERE j.seq = ANY (ARRAY[u.seq]) AND j.fence = u.fence AND j.state = 'RUNNING'
