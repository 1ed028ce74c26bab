-- What the log of the whole server and the counters of one database say. Those of a connection are complete once it has
-- ended.
SELECT (pg_current_wal_lsn() - '0/0')::float8, xact_commit::float8, (blks_hit + blks_read)::float8
FROM pg_stat_database
WHERE datname = $1
