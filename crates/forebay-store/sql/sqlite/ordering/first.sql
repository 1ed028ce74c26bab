-- Whether a job of the key is its first: one is, as long as one may run.
SELECT 1 FROM jobs
WHERE tenant = ?1 AND task = ?2 AND ordering_key = ?3 AND key_first = 1 AND finished_at IS NULL
