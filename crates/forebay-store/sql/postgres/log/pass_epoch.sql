-- Moves the epoch on where somebody has the current one for himself: nobody could join it. Whoever closes an epoch has
-- moved on before, so that this is a session of somebody else.
UPDATE log_epochs SET current = current + 1
WHERE id = 1 AND NOT pg_try_advisory_xact_lock_shared(7046000000000000000 + current)
