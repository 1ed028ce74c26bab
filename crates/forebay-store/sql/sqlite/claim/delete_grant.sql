DELETE FROM grants WHERE attempt_id = ?1
