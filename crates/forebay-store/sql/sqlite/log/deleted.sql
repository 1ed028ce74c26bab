SELECT 0, seq FROM log_deleted WHERE tenant = ?1
