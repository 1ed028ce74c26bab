UPDATE retention SET accepted_until = max(accepted_until, coalesce((SELECT max(created_at) FROM inputs WHERE job IN (SELECT value FROM json_each(?1))), 0))
WHERE id = 1
