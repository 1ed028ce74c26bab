-- A job has ended: each batch has as many open members less as it is in it.
UPDATE batches SET
  open = open - m.times, finished_at = CASE WHEN open = m.times THEN ?2 END
FROM (SELECT batch, count(*) AS times FROM batch_members WHERE job_id = ?1 GROUP BY batch) m
WHERE batches.id = m.batch
RETURNING id, tenant, open
