UPDATE pools SET turn = ?2, turn_is_on = ?3, quantum = ?4, largest = ?5 WHERE name = ?1
