-- Open attempts keep their permit: rescue closes them first.
SELECT g.attempt_id FROM grants g JOIN attempts a ON a.id = g.attempt_id
WHERE g.lease_until <= ?1 AND a.settled_at IS NOT NULL
LIMIT ?2
