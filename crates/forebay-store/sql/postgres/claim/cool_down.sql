UPDATE pools SET cooldown_until = ?2, cooldown_class = ?3 WHERE name = ?1 AND cooldown_until < ?2
