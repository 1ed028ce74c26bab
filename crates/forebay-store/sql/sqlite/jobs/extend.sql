UPDATE jobs SET lease_until = ?3 WHERE seq = ?1 AND fence = ?2 AND state = 'RUNNING'
