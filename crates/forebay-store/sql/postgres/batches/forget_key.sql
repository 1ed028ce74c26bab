-- An expired key stands for nothing any more.
UPDATE batches SET idempotency_key = NULL WHERE tenant = ?1 AND idempotency_key = ?2 AND key_expires_at <= ?3
