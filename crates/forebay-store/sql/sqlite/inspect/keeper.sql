-- The one that has kept it longest.
SELECT latest_job FROM kept_keys WHERE tenant = ?1 AND task = ?2 AND ordering_key = ?3
ORDER BY kept_at, first_job LIMIT 1
