-- Complete for long enough, with none of its jobs left and no key that still stands for it. The log's last event stays,
-- so that it is known where the log ends.
SELECT b.seq
FROM batches b
WHERE b.seq IN (SELECT value FROM json_each(?1)) AND b.finished_at <= ?2
  AND (b.idempotency_key IS NULL OR b.key_expires_at <= ?3)
  AND NOT EXISTS (SELECT 1 FROM batch_members m JOIN inputs i ON i.id = m.job_id WHERE m.batch = b.id)
  AND NOT EXISTS (
    SELECT 1 FROM events e
    WHERE e.job IS NULL AND e.tenant = b.tenant AND e.at = b.finished_at AND (e.seq = (SELECT max(l.seq) FROM events l)))
ORDER BY b.seq
