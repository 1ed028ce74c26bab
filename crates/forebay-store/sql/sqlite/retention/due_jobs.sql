-- Those that nobody wants any more: a job that failed is a dead letter, and has its own time, which begins again
-- whenever somebody deals with it.
SELECT j.seq
FROM jobs j JOIN inputs i ON i.job = j.seq LEFT JOIN dead_letters d ON d.job_id = i.id
WHERE j.seq IN (SELECT value FROM json_each(?1))
  AND j.finished_at <= CASE WHEN d.job_id IS NULL THEN ?2 ELSE ?3 END
  AND (d.job_id IS NULL OR d.updated_at <= ?3)
  -- A call that may still be running.
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.job = j.seq AND (a.settled_at IS NULL OR a.permit_until IS NOT NULL))
  AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.job_id = i.id AND r.decided_at IS NULL)
  -- One that keeps its ordering key, or that has to be dealt with before another one gives it free.
  AND NOT EXISTS (SELECT 1 FROM kept_keys k WHERE k.first_job = i.id)
  AND NOT EXISTS (SELECT 1 FROM kept_keys k WHERE k.latest_job = i.id)
  -- What does a failed one's work again is named by it, as long as it is there; and it, by what is still under way.
  AND NOT EXISTS (SELECT 1 FROM inputs o WHERE o.id = i.replay_of)
  AND NOT EXISTS (
    SELECT 1 FROM inputs r JOIN jobs rj ON rj.seq = r.job WHERE r.replay_of = i.id AND rj.finished_at IS NULL)
  -- A batch that is not complete counts all its members.
  AND NOT EXISTS (
    SELECT 1 FROM batch_members m JOIN batches b ON b.id = m.batch WHERE m.job_id = i.id AND b.finished_at IS NULL)
  -- The log's last event stays, so that it is known where the log ends.
  AND NOT EXISTS (SELECT 1 FROM events e WHERE e.job = j.seq AND (e.seq = (SELECT max(l.seq) FROM events l)))
ORDER BY j.seq
