-- Locked in the order of their names, as by everybody.
WITH locked AS MATERIALIZED (
  SELECT p.name, u.calls
  FROM unnest(CAST(?1 AS text[]), CAST(?2 AS bigint[])) AS u (name, calls) JOIN pools p ON p.name = u.name
  ORDER BY p.name FOR UPDATE OF p)
UPDATE pools p SET in_flight = p.in_flight + l.calls FROM locked l WHERE p.name = l.name
