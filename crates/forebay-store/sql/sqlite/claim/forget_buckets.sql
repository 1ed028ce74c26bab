DELETE FROM pool_buckets WHERE pool = ?1 AND width = ?2 AND start < ?3
