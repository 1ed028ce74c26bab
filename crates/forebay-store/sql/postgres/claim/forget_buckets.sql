DELETE FROM pool_buckets b
USING unnest(CAST(?1 AS text[]), CAST(?2 AS bigint[])) AS u (pool, start)
WHERE b.pool = u.pool AND b.start < u.start
