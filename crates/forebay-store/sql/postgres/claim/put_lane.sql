INSERT INTO lanes (pool, tenant, credit, turn)
SELECT u.pool, u.tenant, u.credit, u.turn
FROM unnest(CAST(?1 AS text[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]))
  AS u (pool, tenant, credit, turn)
ON CONFLICT (pool, tenant) DO UPDATE SET credit = excluded.credit, turn = excluded.turn
