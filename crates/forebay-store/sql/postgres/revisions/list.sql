SELECT r.number, r.digest, r.comment, r.created_at, r.created_by, k.name
FROM revisions r LEFT JOIN keys k ON k.id = r.created_by
WHERE r.number < CAST(?1 AS bigint)
ORDER BY r.number DESC LIMIT ?2
