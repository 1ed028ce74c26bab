-- Sessions with a snapshot or a number of their own, which vacuum has to spare: those of this database, and those that
-- read for a replica. Processes of the server have no user; a helper in a parallel query has its leader's snapshot.
-- What others do is hidden from a user without pg_read_all_stats, and who they are is not.
SELECT pid, application_name, usename, state,
       CAST(extract(epoch FROM clock_timestamp() - xact_start) * 1000 AS bigint),
       CAST(greatest(age(backend_xmin), age(backend_xid)) AS bigint),
       coalesce(query = '<insufficient privilege>', false)
FROM pg_stat_activity
WHERE (datname = current_database() OR datname IS NULL) AND usesysid IS NOT NULL AND leader_pid IS NULL
  AND pid <> pg_backend_pid() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
ORDER BY xact_start, pid
