-- Written in every transaction of a desk: by what it finds here, the desk knows whether its last one was committed.
INSERT INTO desks (id, last, used_at)
SELECT * FROM unnest(CAST(?1 AS uuid[]), CAST(?2 AS uuid[]), CAST(?3 AS bigint[]))
ON CONFLICT (id) DO UPDATE SET last = excluded.last, used_at = excluded.used_at
