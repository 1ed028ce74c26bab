-- Of a key that is kept, the earliest unfinished job that does the work of the failed one again, unless another one is at it.
UPDATE jobs SET
  key_first = 1,
  claimable = (state IN ('READY', 'RETRY_SCHEDULED') AND available_at <= :now)
WHERE seq = (
  SELECT min(n.seq)
  FROM kept_keys k
  CROSS JOIN inputs i ON i.replay_of IN (k.first_job, k.latest_job)
  CROSS JOIN jobs n ON n.seq = i.job
  WHERE k.tenant = :tenant AND k.task = :task AND k.ordering_key = :ordering_key
    AND n.tenant = :tenant AND n.task = :task AND n.ordering_key = :ordering_key AND n.finished_at IS NULL)
  AND NOT EXISTS (
    SELECT 1 FROM jobs f
    WHERE f.tenant = :tenant AND f.task = :task AND f.ordering_key = :ordering_key
      AND f.key_first = 1 AND f.finished_at IS NULL)
RETURNING pool, id
