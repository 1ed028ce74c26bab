-- One step along the index from lane to lane: its cost does not depend on how many jobs wait. The order names all that
-- the index has, so that it is this one which is used: by another, all jobs that a tenant ever had would be passed.
SELECT tenant FROM jobs
WHERE claimable AND pool = ?1 AND tenant > ?2
ORDER BY tenant, place, seq LIMIT 1
