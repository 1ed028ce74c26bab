SELECT pool, tenant FROM grants WHERE attempt_id = ?1
