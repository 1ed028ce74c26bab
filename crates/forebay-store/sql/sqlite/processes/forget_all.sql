-- At start there is no other process: whoever was there is dead.
DELETE FROM processes
