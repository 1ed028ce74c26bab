-- The database's clock, in milliseconds, and the name of this transaction, by which its outcome can be asked for.
SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint), CAST(pg_current_xact_id() AS text)
