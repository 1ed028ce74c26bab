-- The plus keeps the tenant out of the choice of indexes: it is by the job that rows are found.
DELETE FROM kept_keys WHERE +tenant = ?1 AND (first_job = ?2 OR latest_job = ?2) RETURNING task, ordering_key
