DELETE FROM processes WHERE id = ?1
