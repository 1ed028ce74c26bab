SELECT tenant, 0 AS epoch, seq FROM log_deleted
