-- The plus sign keeps the planner from walking through all events of the tenant to find those of the job. There are no
-- epochs where one process writes: a place with one stands after all events.
SELECT 0, seq, type, body FROM events
WHERE +tenant = ?1 AND job = (SELECT job FROM inputs WHERE id = ?2) AND seq > ?4 AND ?3 = 0 ORDER BY seq LIMIT ?5
