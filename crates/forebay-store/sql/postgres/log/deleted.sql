SELECT epoch, seq FROM log_deleted WHERE tenant = ?1
