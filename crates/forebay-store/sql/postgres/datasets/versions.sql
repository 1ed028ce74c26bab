SELECT name, version, digest, columns, rows, bytes, created_at, created_by FROM datasets
WHERE tenant = ?1 AND name = ?2
ORDER BY version DESC
LIMIT ?3
