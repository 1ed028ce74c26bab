-- From lane to lane by steps along the index, however many jobs wait in each.
WITH RECURSIVE lanes AS (
  SELECT CAST(-1 AS bigint) AS tenant
  UNION ALL
  SELECT next.tenant
  FROM lanes, LATERAL (
    SELECT j.tenant FROM jobs j
    WHERE j.claimable AND j.pool = ?1 AND j.tenant > lanes.tenant
    ORDER BY j.tenant, j.place, j.seq LIMIT 1) next)
SELECT count(*) - 1 FROM lanes
