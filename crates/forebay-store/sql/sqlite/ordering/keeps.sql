-- Whether a job keeps a key: one that failed, or the latest one that did its work again and failed, too.
SELECT 1 FROM kept_keys
WHERE tenant = ?1 AND task = ?2 AND ordering_key = ?3 AND (first_job = ?4 OR latest_job = ?4)
