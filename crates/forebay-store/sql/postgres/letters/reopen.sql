-- A replay that was cancelled has done nothing: its original is open again, unless another replay stands for it. The
-- original's job is locked, as by whoever replays it, so that no other replay comes in between.
UPDATE dead_letters SET state = 'open', updated_at = ?2
WHERE job_id = ?1 AND state = 'replayed'
  AND NOT EXISTS (
    SELECT 1 FROM inputs i JOIN jobs j ON j.seq = i.job
    WHERE i.replay_of = ?1 AND j.state <> 'CANCELLED')
