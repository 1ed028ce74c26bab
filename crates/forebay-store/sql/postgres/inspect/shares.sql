-- The tenants with due jobs in a pool, by steps along the index, and what their lanes were served.
WITH RECURSIVE
turns (tenant) AS (
  SELECT (SELECT j.tenant FROM jobs j WHERE j.claimable AND j.pool = ?1 ORDER BY j.tenant LIMIT 1)
  UNION ALL
  SELECT (SELECT j.tenant FROM jobs j WHERE j.claimable AND j.pool = ?1 AND j.tenant > t.tenant ORDER BY j.tenant LIMIT 1)
  FROM turns t
  WHERE t.tenant IS NOT NULL)
SELECT t.tenant, e.weight, l.served, l.yielded_at
FROM turns t
CROSS JOIN LATERAL (SELECT * FROM tenants e WHERE e.id = t.tenant OFFSET 0) e
CROSS JOIN LATERAL (SELECT * FROM lanes l WHERE l.pool = ?1 AND l.tenant = t.tenant OFFSET 0) l
LIMIT CAST(?2 AS bigint)
