SELECT r.number, r.digest, r.comment, r.created_at, r.created_by, k.name, r.source
FROM revisions r LEFT JOIN keys k ON k.id = r.created_by
WHERE r.number = (SELECT active_revision FROM meta WHERE id = 1)
