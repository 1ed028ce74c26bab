-- From lane to lane by steps along the index, however many jobs wait in each.
WITH RECURSIVE lanes AS (
  (SELECT tenant FROM jobs WHERE claimable AND pool = ?1 ORDER BY tenant, place, seq LIMIT 1)
  UNION ALL
  SELECT next.tenant
  FROM lanes, LATERAL (
    SELECT j.tenant FROM jobs j
    WHERE j.claimable AND j.pool = ?1 AND j.tenant > lanes.tenant
    ORDER BY j.tenant, j.place, j.seq LIMIT 1) next)
SELECT count(*) FROM lanes
