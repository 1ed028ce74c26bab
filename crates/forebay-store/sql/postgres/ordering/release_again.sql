-- Of a key that is kept, the earliest unfinished job that does the work of the failed one again, unless another one is at it.
WITH next AS MATERIALIZED (
  SELECT n.seq
  FROM kept_keys k
  CROSS JOIN LATERAL (SELECT i.job FROM inputs i WHERE i.replay_of IN (k.first_job, k.latest_job) OFFSET 0) i
  JOIN jobs n ON n.seq = ANY (ARRAY[i.job])
  WHERE k.tenant = :tenant AND k.task = :task AND k.ordering_key = :ordering_key
    AND n.tenant = :tenant AND n.task = :task AND n.ordering_key = :ordering_key
    AND NOT n.key_first AND n.finished_at IS NULL
    AND NOT EXISTS (
      SELECT 1 FROM jobs f
      WHERE f.tenant = :tenant AND f.task = :task AND f.ordering_key = :ordering_key
        AND f.key_first AND f.finished_at IS NULL)
  ORDER BY n.seq LIMIT 1
  FOR UPDATE OF n)
UPDATE jobs j SET
  key_first = true,
  claimable = (j.state IN ('READY', 'RETRY_SCHEDULED') AND j.available_at <= :now)
FROM next WHERE j.seq = ANY (ARRAY[next.seq])
RETURNING j.pool, j.id
