SELECT number, source, digest, comment, created_at FROM revisions WHERE number = ?1
