-- Jobs in accept order, each with when it was accepted.
SELECT j.seq, e.at FROM jobs j JOIN events e ON e.seq = j.seq WHERE j.seq > ?1 ORDER BY j.seq LIMIT ?2
