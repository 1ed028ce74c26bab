SELECT min(seq) FROM events
