-- How many connections are taken, of how many that there may be: in the server, less those kept for others; of this user; to
-- this database. A superuser has only the first limit. Negative is none.
SELECT CAST(current_setting('max_connections') AS bigint) - CAST(current_setting('superuser_reserved_connections') AS bigint)
         - CAST(coalesce(current_setting('reserved_connections', true), '0') AS bigint),
       count(*),
       CAST(CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END AS bigint),
       count(*) FILTER (WHERE a.usesysid = r.oid),
       CAST(CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END AS bigint),
       count(*) FILTER (WHERE a.datid = d.oid),
       count(*) FILTER (WHERE a.datid = d.oid AND a.application_name = 'forebay' AND a.pid <> pg_backend_pid())
FROM pg_stat_activity a, pg_roles r, pg_database d
WHERE a.usesysid IS NOT NULL AND a.datid IS NOT NULL AND r.rolname = session_user AND d.datname = current_database()
GROUP BY r.rolsuper, r.rolconnlimit, d.datconnlimit
