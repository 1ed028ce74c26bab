-- Where it had something to take all the time, it has yielded when it did before.
INSERT INTO lanes (pool, tenant, credit, turn, served, yielded_at) VALUES (?1, ?2, ?3, ?4, ?5, coalesce(?6, 0))
ON CONFLICT (pool, tenant) DO UPDATE SET
  credit = excluded.credit, turn = excluded.turn, served = served + excluded.served,
  yielded_at = max(yielded_at, excluded.yielded_at)
