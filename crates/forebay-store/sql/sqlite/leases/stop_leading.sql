UPDATE leader_leases SET lease_until = ?3 WHERE name = ?1 AND holder = ?2 AND lease_until > ?3
