SELECT 1 FROM batches WHERE id = ?1 AND filled_at IS NULL
