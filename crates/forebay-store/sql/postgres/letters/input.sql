SELECT body, blob, series_key, series_version FROM inputs WHERE job = ?1
