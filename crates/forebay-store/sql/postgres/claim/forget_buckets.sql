DELETE FROM pool_buckets b
USING unnest(CAST(?1 AS text[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[])) AS u (pool, width, start)
WHERE b.pool = u.pool AND b.width = u.width AND b.start < u.start
