INSERT INTO pool_buckets (pool, start, requests, tokens) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (pool, start) DO UPDATE SET requests = requests + excluded.requests, tokens = tokens + excluded.tokens
