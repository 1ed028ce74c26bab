-- The tenants with due jobs in a pool, by steps along the index, and what their lanes were served.
WITH RECURSIVE
turns (tenant) AS (
  SELECT (SELECT j.tenant FROM jobs j WHERE j.claimable = 1 AND j.pool = ?1 ORDER BY j.tenant LIMIT 1)
  UNION ALL
  SELECT (SELECT j.tenant FROM jobs j WHERE j.claimable = 1 AND j.pool = ?1 AND j.tenant > t.tenant ORDER BY j.tenant LIMIT 1)
  FROM turns t
  WHERE t.tenant IS NOT NULL)
SELECT t.tenant, e.weight, l.served, l.yielded_at
FROM turns t
CROSS JOIN tenants e ON e.id = t.tenant
CROSS JOIN lanes l ON l.pool = ?1 AND l.tenant = t.tenant
LIMIT ?2
