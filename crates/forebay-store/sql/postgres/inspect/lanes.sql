-- Tenants with due jobs in a pool, and keys of one of them, by steps along the index, however many jobs wait in each.
WITH RECURSIVE
tenants_in_turn (tenant) AS (
  SELECT (SELECT j.tenant FROM jobs j WHERE j.claimable AND j.pool = ?1 ORDER BY j.tenant LIMIT 1)
  UNION ALL
  SELECT (SELECT j.tenant FROM jobs j WHERE j.claimable AND j.pool = ?1 AND j.tenant > t.tenant ORDER BY j.tenant LIMIT 1)
  FROM tenants_in_turn t
  WHERE t.tenant IS NOT NULL),
keys_in_turn (lane) AS (
  SELECT (SELECT j.lane FROM jobs j WHERE j.claimable AND j.pool = ?1 AND j.tenant = ?2 ORDER BY j.lane LIMIT 1)
  UNION ALL
  SELECT (SELECT j.lane FROM jobs j
          WHERE j.claimable AND j.pool = ?1 AND j.tenant = ?2 AND j.lane > k.lane ORDER BY j.lane LIMIT 1)
  FROM keys_in_turn k
  WHERE k.lane IS NOT NULL)
SELECT (SELECT count(tenant) FROM tenants_in_turn), (SELECT count(lane) FROM keys_in_turn)
