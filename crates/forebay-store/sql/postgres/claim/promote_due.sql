-- Jobs that another process has locked are its to promote, or change right now.
WITH due AS MATERIALIZED (
  SELECT seq FROM jobs
  WHERE NOT claimable AND key_first AND state IN ('READY', 'RETRY_SCHEDULED') AND available_at <= ?1
  ORDER BY available_at LIMIT ?2
  FOR UPDATE SKIP LOCKED)
UPDATE jobs j SET claimable = true FROM due WHERE j.seq = ANY (ARRAY[due.seq])
RETURNING j.pool
