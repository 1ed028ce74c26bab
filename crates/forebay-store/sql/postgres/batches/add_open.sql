UPDATE batches SET open = open + ?2 WHERE id = ?1
