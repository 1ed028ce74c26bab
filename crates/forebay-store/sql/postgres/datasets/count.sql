SELECT count(DISTINCT name) FROM datasets WHERE tenant = ?1
