SELECT name, version, digest, columns, rows, bytes, created_at, created_by FROM datasets d
WHERE tenant = ?1
  AND version = (SELECT max(version) FROM datasets l WHERE l.tenant = d.tenant AND l.name = d.name)
ORDER BY name
