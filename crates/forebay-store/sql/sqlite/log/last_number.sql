-- The number of the last event that was ever written, deleted ones included.
SELECT seq FROM sqlite_sequence WHERE name = 'events'
