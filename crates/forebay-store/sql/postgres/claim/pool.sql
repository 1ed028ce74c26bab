-- Locked: one process at a time hands out what a pool has. For writes only.
SELECT in_flight, cooldown_until, turn FROM pools WHERE name = ?1 FOR UPDATE
