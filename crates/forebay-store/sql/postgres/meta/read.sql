SELECT store_id, incarnation, cursor_secret FROM meta WHERE id = 1
