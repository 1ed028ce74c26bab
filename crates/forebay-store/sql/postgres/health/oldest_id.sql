-- The database with the oldest transaction id, of rows or of shared locks: any of them ends the server's writes.
SELECT datname, CAST(greatest(age(datfrozenxid), mxid_age(datminmxid)) AS bigint) AS oldest
FROM pg_database ORDER BY oldest DESC, datname LIMIT 1
