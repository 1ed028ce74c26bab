SELECT a.id, j.id, a.tenant, a.pool, a.task, a.lane, a.reserved_input + a.reserved_output, a.permit_until
FROM attempts a JOIN jobs j ON j.seq = a.job
WHERE a.permit_until IS NOT NULL
