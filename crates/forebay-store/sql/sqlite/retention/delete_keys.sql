-- Keys whose jobs were deleted before they expired.
DELETE FROM idempotency_keys
WHERE (tenant, key) IN (
  SELECT tenant, key FROM idempotency_keys WHERE ended IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2)
