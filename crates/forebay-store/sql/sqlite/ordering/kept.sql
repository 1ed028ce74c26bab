SELECT 1 FROM kept_keys WHERE tenant = ?1 AND task = ?2 AND ordering_key = ?3 LIMIT 1
