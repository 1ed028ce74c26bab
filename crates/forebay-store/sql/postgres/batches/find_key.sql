SELECT id, body_digest FROM batches WHERE tenant = ?1 AND idempotency_key = ?2
