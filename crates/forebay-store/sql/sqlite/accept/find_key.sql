-- An expired key stands for nothing any more; the job that it stood for is untouched.
SELECT k.job_id, k.body_digest, coalesce(j.state, k.ended), k.expires_at
FROM idempotency_keys k LEFT JOIN inputs n ON n.id = k.job_id LEFT JOIN jobs j ON j.seq = n.job
WHERE k.tenant = ?1 AND k.key = ?2 AND k.expires_at > ?3
