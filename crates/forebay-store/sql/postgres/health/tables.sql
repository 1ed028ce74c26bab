-- Tables beside that of the migrations: live and dead rows, when they were last vacuumed, how many dead rows autovacuum
-- lets come together, and whether it leaves the table alone.
SELECT c.relname, s.n_dead_tup,
       CAST(extract(epoch FROM clock_timestamp() - greatest(s.last_autovacuum, s.last_vacuum)) * 1000 AS bigint),
       CAST(coalesce(o.threshold, CAST(current_setting('autovacuum_vacuum_threshold') AS float8))
            + coalesce(o.scale, CAST(current_setting('autovacuum_vacuum_scale_factor') AS float8)) * greatest(c.reltuples, 0)
            AS bigint),
       coalesce(o.enabled, true)
FROM pg_class c
JOIN pg_stat_user_tables s ON s.relid = c.oid
CROSS JOIN LATERAL (
  SELECT max(CASE WHEN option_name = 'autovacuum_vacuum_threshold' THEN CAST(option_value AS float8) END) AS threshold,
         max(CASE WHEN option_name = 'autovacuum_vacuum_scale_factor' THEN CAST(option_value AS float8) END) AS scale,
         bool_and(CASE WHEN option_name = 'autovacuum_enabled' THEN CAST(option_value AS boolean) END) AS enabled
  FROM pg_options_to_table(c.reloptions)) o
WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('migrations')) AND c.relkind = 'r'
ORDER BY s.n_dead_tup DESC, c.relname
