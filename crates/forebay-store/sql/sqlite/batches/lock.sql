SELECT id FROM batches WHERE id = ?1
