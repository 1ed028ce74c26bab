-- The last row stays when old ones are deleted.
SELECT max(seq) FROM events
