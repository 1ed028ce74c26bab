-- A job has ended, and its row says so already: the earliest unfinished job of its key is the first now.
--
-- Where the job that ended was not the first, the first one is still there: then nothing changes, and nothing is
-- waited for. That may be so because another process is about to end the first one and has not committed yet; then
-- it is that process which comes by here for the key. Where it finds the job that was ended meanwhile, it waits
-- for that row, sees that it has ended, and goes on to the next: what is locked is looked at again, and the limit
-- counts what is left then. Jobs that are being accepted hold the first one's row (see `first`), so that
-- they were committed, and are seen here, before it could end.
WITH next AS MATERIALIZED (
  SELECT n.seq FROM jobs n
  -- The key from and to itself, so that the order names it: by number alone, all jobs from the first one on would do.
  WHERE n.tenant = :tenant AND n.task = :task AND n.ordering_key >= :ordering_key AND n.ordering_key <= :ordering_key
    AND NOT n.key_first AND n.finished_at IS NULL
    AND NOT EXISTS (
      SELECT 1 FROM jobs f
      WHERE f.tenant = :tenant AND f.task = :task AND f.ordering_key = :ordering_key
        AND f.key_first AND f.finished_at IS NULL)
    -- A job that failed may keep the key: who sees that it has ended sees this, too.
    AND NOT EXISTS (
      SELECT 1 FROM kept_keys k WHERE k.tenant = :tenant AND k.task = :task AND k.ordering_key = :ordering_key)
  ORDER BY n.ordering_key, n.seq LIMIT 1
  FOR UPDATE OF n)
UPDATE jobs j SET
  key_first = true,
  claimable = (j.state IN ('READY', 'RETRY_SCHEDULED') AND j.available_at <= :now)
FROM next WHERE j.seq = ANY (ARRAY[next.seq])
RETURNING j.pool, j.id
