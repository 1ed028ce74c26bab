SELECT p.id, p.name, p.build, p.roles, p.slots, p.pools, p.tasks, p.in_hand, p.started_at, p.heard_at,
       (SELECT string_agg(l.name, ' ') FROM leader_leases l WHERE l.holder = p.id AND l.lease_until > ?2)
FROM processes p WHERE p.heard_at >= ?1
ORDER BY p.started_at, p.id
