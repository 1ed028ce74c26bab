SELECT name, in_flight FROM calls WHERE kind = 'task' AND name IN (SELECT value FROM json_each(?1))
