UPDATE pools SET in_flight = in_flight + ?2 WHERE name = ?1
