INSERT INTO pool_buckets (pool, start, requests, tokens)
SELECT u.pool, u.start, u.requests, u.tokens
FROM unnest(CAST(?1 AS text[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]))
  AS u (pool, start, requests, tokens)
ORDER BY u.pool, u.start
ON CONFLICT (pool, start) DO UPDATE SET
  requests = pool_buckets.requests + excluded.requests, tokens = pool_buckets.tokens + excluded.tokens
