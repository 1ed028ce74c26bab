UPDATE attempts SET permit_until = ?4 WHERE job = ?1 AND fence = ?2 AND id = ?3 AND permit_until IS NOT NULL
