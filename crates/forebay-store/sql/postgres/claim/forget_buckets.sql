DELETE FROM pool_buckets WHERE pool = ?1 AND start < ?2
