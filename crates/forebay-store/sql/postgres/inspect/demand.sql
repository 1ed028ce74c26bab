-- Due jobs of a pool by tenant and task, the most first: from lane to lane by steps along the index, and counted up to a
-- bound, so that the cost does not grow with the backlog.
WITH RECURSIVE
sub_lanes (tenant, lane, task) AS (
  SELECT j.tenant, j.lane, j.task FROM jobs j
  WHERE j.seq = (
    SELECT n.seq FROM jobs n WHERE n.claimable AND n.pool = ?1 ORDER BY n.tenant, n.lane, n.task LIMIT 1)
  UNION ALL
  SELECT j.tenant, j.lane, j.task
  FROM sub_lanes s JOIN jobs j ON j.seq = (
    SELECT n.seq FROM jobs n
    WHERE n.claimable AND n.pool = ?1 AND (n.tenant, n.lane, n.task) > (s.tenant, s.lane, s.task)
    ORDER BY n.tenant, n.lane, n.task LIMIT 1))
SELECT w.tenant, w.task, count(*), min(w.available_at), t.max_in_flight,
       coalesce((SELECT l.in_flight FROM tenant_load l WHERE l.tenant = w.tenant), 0)
FROM (
  SELECT j.tenant, j.task, j.available_at
  FROM sub_lanes s
  JOIN jobs j ON j.claimable AND j.pool = ?1 AND j.tenant = s.tenant AND j.lane = s.lane AND j.task = s.task
  WHERE CAST(?2 AS text) IS NULL OR s.task = CAST(?2 AS text)
  LIMIT 100000) w
JOIN tenants t ON t.id = w.tenant
GROUP BY w.tenant, w.task, t.max_in_flight
ORDER BY count(*) DESC, w.tenant, w.task
