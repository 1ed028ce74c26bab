UPDATE pools p SET turn = u.turn, turn_is_on = u.turn_is_on, quantum = u.quantum, largest = u.largest
FROM unnest(
  CAST(?1 AS text[]), CAST(?2 AS bigint[]), CAST(?3 AS boolean[]), CAST(?4 AS bigint[]), CAST(?5 AS bigint[]))
  AS u (name, turn, turn_is_on, quantum, largest)
WHERE p.name = u.name
