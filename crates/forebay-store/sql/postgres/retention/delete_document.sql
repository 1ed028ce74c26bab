DELETE FROM documents WHERE tenant = ?1 AND digest = ?2
