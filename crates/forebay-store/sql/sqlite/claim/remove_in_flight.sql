UPDATE pools SET in_flight = in_flight - 1 WHERE name = ?1
