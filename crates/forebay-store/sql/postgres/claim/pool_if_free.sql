-- As `pool`, for who has something else to do than to wait: no row where another process has it.
SELECT p.cooldown_until, p.turn, p.turn_is_on, p.quantum, p.largest,
       (SELECT min(j.available_at) FROM jobs j
        WHERE NOT j.claimable AND j.key_first AND j.state IN ('READY', 'RETRY_SCHEDULED'))
FROM pools p WHERE p.name = ?1
FOR UPDATE OF p SKIP LOCKED
