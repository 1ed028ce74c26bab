SELECT in_flight, cooldown_until, turn FROM pools WHERE name = ?1
