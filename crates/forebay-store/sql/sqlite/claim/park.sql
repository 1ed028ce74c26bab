-- Out of its lane until then. Not a change of state: no event, no version, and its place stays.
UPDATE jobs SET claimable = 0, available_at = ?2
WHERE seq = ?1 AND state IN ('READY', 'RETRY_SCHEDULED')
