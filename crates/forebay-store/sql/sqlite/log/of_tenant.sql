-- There are no epochs where one process writes: a place with one stands after all events.
SELECT 0, seq, type, body FROM events WHERE tenant = ?1 AND seq > ?3 AND ?2 = 0 ORDER BY seq LIMIT ?4
