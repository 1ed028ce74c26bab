UPDATE batches SET cancelled_at = ?2 WHERE id = ?1 AND cancelled_at IS NULL
