-- What a slot keeps: rows, by the oldest transaction that its reader may see, and the log since where it has read to.
-- One that was lost keeps none.
SELECT slot_name, active, CAST(age(xmin) AS bigint),
       CAST(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
                            CASE WHEN wal_status <> 'lost' THEN restart_lsn END) AS bigint)
FROM pg_replication_slots ORDER BY slot_name
