-- Tenant 0 is all tenants together: a row that every process writes, so that it is locked last, and all of them in that
-- order. A limit that was looked at before holds still.
WITH locked AS MATERIALIZED (
  SELECT l.tenant, u.pending_jobs, u.in_flight, u.most_pending, u.most_in_flight
  FROM unnest(
    CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]), CAST(?5 AS bigint[]))
    AS u (tenant, pending_jobs, in_flight, most_pending, most_in_flight)
  JOIN tenant_load l ON l.tenant = u.tenant
  ORDER BY l.tenant DESC FOR UPDATE OF l)
UPDATE tenant_load l SET
  pending_jobs = l.pending_jobs + d.pending_jobs, in_flight = l.in_flight + d.in_flight
FROM locked d
WHERE l.tenant = d.tenant
  AND (d.most_pending IS NULL OR l.pending_jobs + d.pending_jobs <= d.most_pending)
  AND (d.most_in_flight IS NULL OR l.in_flight + d.in_flight <= d.most_in_flight)
