SELECT id FROM meta WHERE id = 1
