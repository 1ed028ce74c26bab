-- Somebody who has joined one of these epochs and is still writing: by the locks that are held, since somebody else may
-- stand in the way of the one that is waited for, and has let nobody join then.
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND objsubid = 1 AND mode = 'ShareLock' AND granted
  AND (CAST(classid AS bigint) << 32) + CAST(objid AS bigint)
    BETWEEN 7046000000000000000 + CAST(?1 AS bigint) AND 7046000000000000000 + CAST(?2 AS bigint)
LIMIT 1
