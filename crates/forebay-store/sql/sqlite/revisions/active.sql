SELECT number, source, digest, comment, created_at FROM revisions
WHERE number = (SELECT active_revision FROM meta WHERE id = 1)
