-- Open attempts keep their permit: rescue closes them first. In one order for all, since each is locked then.
SELECT seq FROM attempts
WHERE permit_until <= ?1 AND settled_at IS NOT NULL
ORDER BY permit_until, seq LIMIT ?2
