SELECT r.jobs, r.attempts, r.events, r.batches, r.documents, r.keys,
       (SELECT e.at FROM jobs j JOIN events e ON e.seq = j.seq ORDER BY j.seq LIMIT 1),
       (SELECT at FROM events ORDER BY seq LIMIT 1)
FROM retention r WHERE r.id = 1
