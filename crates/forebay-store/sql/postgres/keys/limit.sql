UPDATE keys SET max_in_flight = ?3 WHERE tenant = ?1 AND id = ?2
