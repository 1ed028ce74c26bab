-- The database's clock, in milliseconds.
SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)
