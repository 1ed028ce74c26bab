UPDATE pools SET in_flight = ?2, turn = ?3 WHERE name = ?1
