UPDATE jobs SET claimable = 1
WHERE seq IN (
  SELECT seq FROM jobs
  WHERE claimable = 0 AND key_first = 1 AND state IN ('READY', 'RETRY_SCHEDULED') AND available_at <= ?1
  ORDER BY available_at LIMIT ?2)
RETURNING pool
