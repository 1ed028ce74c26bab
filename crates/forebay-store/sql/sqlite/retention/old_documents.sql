-- Those of which it was not seen for longest whether they are used.
SELECT tenant, digest FROM documents WHERE used_at <= ?1 ORDER BY used_at LIMIT ?2
