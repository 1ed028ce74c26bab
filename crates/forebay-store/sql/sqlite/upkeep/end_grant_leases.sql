UPDATE attempts SET permit_until = ?1 WHERE permit_until > ?1
