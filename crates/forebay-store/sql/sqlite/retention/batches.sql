SELECT seq, created_at FROM batches WHERE seq > ?1 ORDER BY seq LIMIT ?2
