SELECT gid, CAST(owner AS text), CAST(extract(epoch FROM clock_timestamp() - prepared) * 1000 AS bigint)
FROM pg_prepared_xacts WHERE database = current_database() ORDER BY prepared
