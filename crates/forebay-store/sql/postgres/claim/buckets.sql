SELECT start, requests, tokens FROM pool_buckets WHERE pool = ?1
