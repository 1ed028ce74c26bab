SELECT r.jobs, r.attempts, r.events, r.batches, r.documents, r.keys,
       (SELECT created_at FROM inputs ORDER BY job LIMIT 1),
       (SELECT at FROM events ORDER BY epoch, seq LIMIT 1)
FROM retention r WHERE r.id = 1
