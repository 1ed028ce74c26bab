DELETE FROM desks WHERE used_at <= ?1
