SELECT 1 FROM documents WHERE tenant = ?1 AND digest = ?2
