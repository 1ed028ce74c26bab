SELECT name, setting
FROM pg_settings
WHERE name IN ('server_version', 'synchronous_commit', 'fsync', 'full_page_writes', 'shared_buffers', 'max_wal_size',
    'wal_compression')
