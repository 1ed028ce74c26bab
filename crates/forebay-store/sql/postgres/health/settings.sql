-- What the session was given, and by whom: a setting may be that of the server, of the database or of the user.
SELECT name, setting, source FROM pg_settings
WHERE name IN ('autovacuum', 'track_counts', 'fsync', 'full_page_writes', 'synchronous_commit', 'default_transaction_read_only')
