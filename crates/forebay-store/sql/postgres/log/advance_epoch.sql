-- Moves the epoch on where it has events that readers may not see yet. Gives the one before.
UPDATE log_epochs SET current = current + 1
WHERE id = 1 AND EXISTS (SELECT 1 FROM events e WHERE e.epoch > log_epochs.closed)
RETURNING current - 1, closed
