UPDATE attempts SET permit_until = NULL WHERE seq = ?1
