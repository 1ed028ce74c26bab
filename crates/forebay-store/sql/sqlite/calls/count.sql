-- Calls in flight more, or less, of a pool, a key or a task. A limit that was looked at before holds still.
INSERT INTO calls (kind, name, in_flight) VALUES (?1, ?2, ?3)
ON CONFLICT (kind, name) DO UPDATE SET in_flight = in_flight + excluded.in_flight
WHERE ?4 IS NULL OR in_flight + excluded.in_flight <= ?4
