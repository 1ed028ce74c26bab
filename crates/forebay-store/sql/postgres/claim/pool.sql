-- Locked: one process at a time hands out what a pool has. What is not in the pool's own row is read after this, since it
-- may be as it was before the wait for the lock; for when the next queued job becomes due, that is good enough.
SELECT p.cooldown_until, p.turn, p.turn_is_on, p.quantum, p.largest,
       (SELECT min(j.available_at) FROM jobs j
        WHERE NOT j.claimable AND j.key_first AND j.state IN ('READY', 'RETRY_SCHEDULED'))
FROM pools p WHERE p.name = ?1
FOR UPDATE OF p
