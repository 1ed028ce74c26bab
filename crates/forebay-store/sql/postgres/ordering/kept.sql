-- Held until the commit: whoever is about to free the key waits for the job that is being accepted, and finds it.
SELECT 1 FROM kept_keys WHERE tenant = ?1 AND task = ?2 AND ordering_key = ?3 LIMIT 1
FOR SHARE
