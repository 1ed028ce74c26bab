UPDATE grants SET lease_until = ?1 WHERE lease_until > ?1
