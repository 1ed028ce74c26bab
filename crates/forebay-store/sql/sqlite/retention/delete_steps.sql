DELETE FROM steps WHERE job IN (SELECT value FROM json_each(?1))
