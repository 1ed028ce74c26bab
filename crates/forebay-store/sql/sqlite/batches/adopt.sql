-- A job that had been accepted before and has not ended: its end counts for this batch, too.
UPDATE jobs SET batch = ?2 WHERE seq = (SELECT job FROM inputs WHERE id = ?1) AND batch IS NULL
