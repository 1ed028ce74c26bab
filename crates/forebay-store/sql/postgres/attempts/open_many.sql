-- The open attempts of jobs that are locked: for each, the job's number, its fence, and what `open` gives.
SELECT a.job, a.fence,
       a.id, a.seq, a.tenant, a.task, a.pool, a.model, a.reserved_input, a.reserved_output, a.reserved_micros,
       a.price_input, a.price_cached, a.price_output, a.budget_start, a.permit_until IS NOT NULL
FROM jobs j JOIN attempts a ON a.job = ANY (ARRAY[j.seq]) AND a.fence = j.fence
WHERE j.id = ANY (CAST(?1 AS uuid[])) AND a.settled_at IS NULL
