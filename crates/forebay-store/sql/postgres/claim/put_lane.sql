-- Where it had something to take all the time, it has yielded when it did before.
INSERT INTO lanes (pool, tenant, credit, turn, served, yielded_at)
SELECT u.pool, u.tenant, u.credit, u.turn, u.served, coalesce(u.yielded_at, 0)
FROM unnest(
  CAST(?1 AS text[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]), CAST(?5 AS bigint[]),
  CAST(?6 AS bigint[]))
  AS u (pool, tenant, credit, turn, served, yielded_at)
ON CONFLICT (pool, tenant) DO UPDATE SET
  credit = excluded.credit, turn = excluded.turn, served = lanes.served + excluded.served,
  yielded_at = greatest(lanes.yielded_at, excluded.yielded_at)
