-- On from an event, which is known by its number: its epoch says where it stands. A number that is none, such as 0,
-- stands before all. Nothing is added any more to what is read here.
SELECT seq, type, body FROM events
WHERE tenant = ?1
  AND (epoch, seq) > (coalesce((SELECT e.epoch FROM events e WHERE e.seq = ?2), 0), ?2)
  AND epoch <= (SELECT closed FROM log_epochs WHERE id = 1)
ORDER BY epoch, seq LIMIT ?3
