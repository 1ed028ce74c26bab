-- Open attempts keep their permit: rescue closes them first.
SELECT job, fence FROM attempts
WHERE permit_until <= ?1 AND settled_at IS NOT NULL
LIMIT ?2
