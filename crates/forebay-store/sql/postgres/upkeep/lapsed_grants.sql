-- Open attempts keep their permit: rescue closes them first. In one order for all, since each is locked then.
SELECT job, fence FROM attempts
WHERE permit_until <= ?1 AND settled_at IS NOT NULL
ORDER BY permit_until, job LIMIT ?2
