SELECT tenant, epoch, seq FROM log_deleted
