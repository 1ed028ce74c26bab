-- What keys stand for, or stood for as long as they had not expired: of each that is known, tenant and key, and what
-- `find_key` gives.
SELECT k.tenant, k.key, k.job_id, k.body_digest, coalesce(j.state, k.ended), k.expires_at
FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS text[])) AS u (tenant, key)
JOIN idempotency_keys k ON k.tenant = ANY (ARRAY[u.tenant]) AND k.key = u.key
LEFT JOIN inputs n ON n.id = ANY (ARRAY[k.job_id]) LEFT JOIN jobs j ON j.seq = ANY (ARRAY[n.job])
