-- With when the next queued job becomes due by time, in whatever pool.
SELECT p.cooldown_until, p.turn, p.turn_is_on, p.quantum, p.largest,
       (SELECT min(j.available_at) FROM jobs j
        WHERE j.claimable = 0 AND j.key_first = 1 AND j.state IN ('READY', 'RETRY_SCHEDULED'))
FROM pools p WHERE p.name = ?1
