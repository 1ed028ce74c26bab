SELECT min(available_at) FROM jobs
WHERE NOT claimable AND key_first AND state IN ('READY', 'RETRY_SCHEDULED')
