SELECT body, blob, series_key, series_version FROM inputs WHERE job_id = ?1
