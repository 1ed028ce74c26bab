SELECT 1 FROM grants WHERE attempt_id = ?1 AND lease_until <= ?2
