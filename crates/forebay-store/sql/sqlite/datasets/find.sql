SELECT name, version, digest, columns, rows, bytes, created_at, created_by FROM datasets
WHERE tenant = ?1 AND name = ?2
  -- A version, or the latest.
  AND (?3 IS NULL OR version = ?3)
ORDER BY version DESC
LIMIT 1
