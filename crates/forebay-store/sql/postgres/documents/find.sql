SELECT digest, bytes, media_type, created_at FROM documents WHERE tenant = ?1 AND digest = ?2
