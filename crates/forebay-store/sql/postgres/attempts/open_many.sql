-- The open attempts of jobs that are locked: for each, the job's number, its fence, and what `open` gives.
SELECT a.job, a.fence,
       a.id, a.tenant, a.lane, a.task, a.pool, a.model, a.reserved_input, a.reserved_output, a.reserved_micros,
       a.price_input, a.price_cached, a.price_output, a.budget_start, a.permit_until IS NOT NULL, a.claimed_at
FROM inputs i JOIN jobs j ON j.seq = ANY (ARRAY[i.job])
  JOIN attempts a ON a.job = ANY (ARRAY[j.seq]) AND a.fence = j.fence
WHERE i.id = ANY (CAST(?1 AS uuid[])) AND a.settled_at IS NULL
