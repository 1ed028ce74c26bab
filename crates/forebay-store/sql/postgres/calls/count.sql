-- Calls in flight more, or less, of pools, keys and tasks.
INSERT INTO calls (kind, name, in_flight)
SELECT u.kind, u.name, u.calls
FROM unnest(CAST(?1 AS text[]), CAST(?2 AS text[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]))
  AS u (kind, name, calls, most)
-- Locked in the order of their key, as by everybody.
ORDER BY u.kind, u.name
ON CONFLICT (kind, name) DO UPDATE SET in_flight = calls.in_flight + excluded.in_flight
-- A limit that was looked at before holds still. Where there is none, the comparison says nothing.
WHERE (calls.in_flight + excluded.in_flight <= (
  SELECT l.most
  FROM unnest(CAST(?1 AS text[]), CAST(?2 AS text[]), CAST(?4 AS bigint[])) AS l (kind, name, most)
  WHERE l.kind = excluded.kind AND l.name = excluded.name)) IS NOT FALSE
