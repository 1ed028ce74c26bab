-- Due jobs of the same tenant and key with a smaller place, counted up to a bound: of each task, along the index.
WITH RECURSIVE
job AS (SELECT j.* FROM jobs j WHERE j.seq = (SELECT job FROM inputs WHERE id = ?3)),
tasks (task) AS (
  SELECT (SELECT a.task FROM jobs a
          WHERE a.claimable = 1 AND a.pool = ?1 AND a.tenant = ?2 AND a.lane = (SELECT lane FROM job)
          ORDER BY a.task LIMIT 1)
  UNION ALL
  SELECT (SELECT a.task FROM jobs a
          WHERE a.claimable = 1 AND a.pool = ?1 AND a.tenant = ?2 AND a.lane = (SELECT lane FROM job) AND a.task > t.task
          ORDER BY a.task LIMIT 1)
  FROM tasks t
  WHERE t.task IS NOT NULL)
SELECT CAST(coalesce(sum((
  SELECT count(*) FROM (
    SELECT 1 FROM jobs a
    WHERE a.claimable = 1 AND a.pool = ?1 AND a.tenant = ?2 AND a.lane = (SELECT lane FROM job) AND a.task = t.task
      AND (a.place, a.seq) < ((SELECT place FROM job), (SELECT seq FROM job))
    LIMIT 100000))), 0) AS bigint)
FROM tasks t
WHERE t.task IS NOT NULL
