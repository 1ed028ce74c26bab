UPDATE pools SET turn = ?2 WHERE name = ?1
