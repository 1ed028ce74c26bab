-- Who stays in an epoch of the log, and since when. The key is the one of log/join_epoch; a prepared transaction has no
-- process.
SELECT a.pid, a.application_name, a.usename, a.state,
       CAST(extract(epoch FROM clock_timestamp() - a.xact_start) * 1000 AS bigint),
       CAST(0 AS bigint),
       coalesce(a.query = '<insufficient privilege>', false)
FROM pg_locks l
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (CAST(l.classid AS bigint) << 32) + CAST(l.objid AS bigint) - 7046000000000000000
      BETWEEN 0 AND (SELECT current FROM log_epochs WHERE id = 1)
ORDER BY a.xact_start, a.pid
