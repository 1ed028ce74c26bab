SELECT min(available_at) FROM jobs
WHERE claimable = 0 AND key_first = 1 AND state IN ('READY', 'RETRY_SCHEDULED')
