-- At start nobody else can lead: whoever did is dead.
UPDATE leader_leases SET lease_until = ?1 WHERE lease_until > ?1
