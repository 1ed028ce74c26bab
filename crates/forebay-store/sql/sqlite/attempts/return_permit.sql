UPDATE attempts SET permit_until = NULL WHERE job = ?1 AND fence = ?2
