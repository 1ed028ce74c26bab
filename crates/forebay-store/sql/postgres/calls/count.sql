-- Calls in flight more, or less, of pools, keys and tasks: what begins in one row, what ends in another.
INSERT INTO call_counts (kind, name, ended, in_flight)
SELECT u.kind, u.name, u.calls < 0, u.calls
FROM unnest(CAST(?1 AS text[]), CAST(?2 AS text[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]))
  AS u (kind, name, calls, most)
-- Locked in the order of their key, as by everybody.
ORDER BY u.kind, u.name, u.calls < 0
ON CONFLICT (kind, name, ended) DO UPDATE SET in_flight = call_counts.in_flight + excluded.in_flight
-- A limit that was looked at before holds still. Where there is none, the comparison says nothing. Whatever has ended
-- since this statement began is not seen: that only makes more room.
WHERE (
  call_counts.in_flight + excluded.in_flight
  + coalesce(
      (SELECT e.in_flight FROM call_counts e WHERE e.kind = excluded.kind AND e.name = excluded.name AND e.ended), 0)
  <= (SELECT l.most
      FROM unnest(CAST(?1 AS text[]), CAST(?2 AS text[]), CAST(?4 AS bigint[])) AS l (kind, name, most)
      WHERE l.kind = excluded.kind AND l.name = excluded.name)) IS NOT FALSE
