-- A job has ended: each batch has as many open members less as it is in it. Batches are locked in the order of their
-- ids, as by everybody.
WITH mine AS MATERIALIZED (SELECT batch FROM batch_members WHERE job_id = ?1),
closed AS MATERIALIZED (
  SELECT b.id, m.times
  FROM (SELECT batch, count(*) AS times FROM mine GROUP BY batch) m JOIN batches b ON b.id = ANY (ARRAY[m.batch])
  ORDER BY b.id FOR UPDATE OF b)
UPDATE batches b SET
  open = b.open - c.times, finished_at = CASE WHEN b.open = c.times THEN CAST(?2 AS bigint) END
FROM closed c WHERE b.id = ANY (ARRAY[c.id])
RETURNING b.id, b.tenant, b.open
