UPDATE grants SET lease_until = ?2 WHERE attempt_id = ?1
