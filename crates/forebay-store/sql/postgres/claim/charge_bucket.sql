INSERT INTO pool_buckets (pool, width, start, settled, requests, input_tokens, output_tokens)
SELECT u.pool, u.width, u.start, u.settled, u.requests, u.input_tokens, u.output_tokens
FROM unnest(
  CAST(?1 AS text[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS boolean[]), CAST(?5 AS bigint[]),
  CAST(?6 AS bigint[]), CAST(?7 AS bigint[]))
  AS u (pool, width, start, settled, requests, input_tokens, output_tokens)
ORDER BY u.pool, u.width, u.start, u.settled
ON CONFLICT (pool, width, start, settled) DO UPDATE SET
  requests = pool_buckets.requests + excluded.requests,
  input_tokens = pool_buckets.input_tokens + excluded.input_tokens,
  output_tokens = pool_buckets.output_tokens + excluded.output_tokens
