-- The earliest unfinished job of the key is its first now. Where one behind it has ended it was so before, and
-- may be RUNNING: then nothing changes.
UPDATE jobs SET
  key_first = 1,
  claimable = (state IN ('READY', 'RETRY_SCHEDULED') AND available_at <= :now)
WHERE seq = (
  SELECT seq FROM jobs
  WHERE tenant = :tenant AND task = :task AND ordering_key = :ordering_key AND finished_at IS NULL
  ORDER BY seq LIMIT 1)
RETURNING pool, id
