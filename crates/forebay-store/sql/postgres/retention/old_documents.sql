-- Those of which it was not seen for longest whether they are used. Whoever accepts a job with one has it locked, and
-- waits for nothing: it is passed by.
SELECT tenant, digest FROM documents WHERE used_at <= ?1 ORDER BY used_at LIMIT ?2 FOR UPDATE SKIP LOCKED
