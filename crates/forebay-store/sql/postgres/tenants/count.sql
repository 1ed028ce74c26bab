-- Tenant 0 is all tenants together: rows that every process writes, so that they are locked last, and all of them in that
-- order. A limit that was looked at before holds still: against the row that is locked, and what can be seen of the
-- others, in which something may have ended since.
WITH locked AS MATERIALIZED (
  SELECT l.tenant, l.part, u.pending_jobs, u.in_flight, u.most_pending, u.most_in_flight
  FROM unnest(
    CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]), CAST(?5 AS bigint[]),
    CAST(?6 AS bigint[]))
    AS u (tenant, part, pending_jobs, in_flight, most_pending, most_in_flight)
  JOIN tenant_counts l ON l.tenant = u.tenant AND l.part = u.part
  ORDER BY l.tenant DESC, l.part FOR UPDATE OF l)
UPDATE tenant_counts l SET
  pending_jobs = l.pending_jobs + d.pending_jobs, in_flight = l.in_flight + d.in_flight
FROM locked d
WHERE l.tenant = d.tenant AND l.part = d.part
  AND (d.most_pending IS NULL OR l.pending_jobs + d.pending_jobs + (
    SELECT sum(o.pending_jobs) FROM tenant_counts o WHERE o.tenant = d.tenant AND o.part <> d.part) <= d.most_pending)
  AND (d.most_in_flight IS NULL OR l.in_flight + d.in_flight + (
    SELECT sum(o.in_flight) FROM tenant_counts o WHERE o.tenant = d.tenant AND o.part <> d.part) <= d.most_in_flight)
