SELECT in_flight, cooldown_until, cooldown_class FROM pools WHERE name = ?1
