-- A lease that nobody has, that has lapsed, or that is one's own already. Gives nothing where it is another's.
INSERT INTO leader_leases AS l (name, holder, fence, lease_until) VALUES (?1, ?2, 1, ?4)
ON CONFLICT (name) DO UPDATE SET
  fence = l.fence + CASE WHEN l.holder = excluded.holder THEN 0 ELSE 1 END,
  holder = excluded.holder,
  lease_until = excluded.lease_until
WHERE l.holder = excluded.holder OR l.lease_until <= ?3
RETURNING fence
