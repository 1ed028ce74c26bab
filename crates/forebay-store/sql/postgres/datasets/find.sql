SELECT name, version, digest, columns, rows, bytes, created_at, created_by FROM datasets
WHERE tenant = ?1 AND name = ?2
  -- A version, or the latest.
  AND (CAST(?3 AS bigint) IS NULL OR version = CAST(?3 AS bigint))
ORDER BY version DESC
LIMIT 1
