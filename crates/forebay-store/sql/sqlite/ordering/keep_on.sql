-- A job that did the work of one that keeps its key has failed, too. The plus: as in `free`.
UPDATE kept_keys SET latest_job = ?3 WHERE +tenant = ?1 AND (first_job = ?2 OR latest_job = ?2)
RETURNING task, ordering_key
