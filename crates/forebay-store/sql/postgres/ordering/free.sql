DELETE FROM kept_keys WHERE tenant = ?1 AND (first_job = ?2 OR latest_job = ?2) RETURNING task, ordering_key
