-- Waits until nobody who has joined one of these epochs is still writing.
SELECT pg_advisory_xact_lock(7046000000000000000 + epoch)
FROM generate_series(CAST(?1 AS bigint), CAST(?2 AS bigint)) epoch
