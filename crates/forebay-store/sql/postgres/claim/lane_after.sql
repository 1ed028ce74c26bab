-- One step along the index from lane to lane: its cost does not depend on how many jobs wait.
SELECT tenant FROM jobs
WHERE claimable AND pool = ?1 AND tenant > ?2
ORDER BY tenant, place, seq LIMIT 1
