SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'
