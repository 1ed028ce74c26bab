-- On from an event, which is known by its number: its epoch says where it stands. A number that is none, such as 0,
-- stands before all. Nothing is added any more to what is read here. The tenant is compared together with the place, so
-- that other tenants' events are not passed on the way.
SELECT seq, type, body FROM events
WHERE (tenant, epoch, seq) > (CAST(?1 AS bigint), coalesce((SELECT e.epoch FROM events e WHERE e.seq = ?2), 0), ?2)
  AND tenant <= ?1
  AND epoch <= (SELECT closed FROM log_epochs WHERE id = 1)
ORDER BY tenant, epoch, seq LIMIT ?3
