-- The earliest unfinished job of the key is its first now, unless another one is, or a job that failed keeps the key.
UPDATE jobs SET
  key_first = 1,
  claimable = (state IN ('READY', 'RETRY_SCHEDULED') AND available_at <= :now)
WHERE seq = (
  SELECT seq FROM jobs
  WHERE tenant = :tenant AND task = :task AND ordering_key = :ordering_key AND finished_at IS NULL
  ORDER BY seq LIMIT 1)
  AND NOT EXISTS (
    SELECT 1 FROM jobs f
    WHERE f.tenant = :tenant AND f.task = :task AND f.ordering_key = :ordering_key
      AND f.key_first = 1 AND f.finished_at IS NULL)
  AND NOT EXISTS (
    SELECT 1 FROM kept_keys k WHERE k.tenant = :tenant AND k.task = :task AND k.ordering_key = :ordering_key)
RETURNING pool, id
