INSERT INTO batches (id, tenant, kind, size, open, idempotency_key, key_expires_at, body_digest, created_at)
VALUES (:id, :tenant, :kind, :size, 1, :idempotency_key, :key_expires_at, :body_digest, :now)
