INSERT INTO lanes (pool, tenant, credit, turn) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (pool, tenant) DO UPDATE SET credit = excluded.credit, turn = excluded.turn
