-- A job that had been accepted before and has not ended: its end counts for this batch, too. The job is locked, or its
-- end could come in between and not know of it.
UPDATE jobs SET batch = ?2 WHERE seq = (SELECT job FROM inputs WHERE id = ?1) AND batch IS NULL
