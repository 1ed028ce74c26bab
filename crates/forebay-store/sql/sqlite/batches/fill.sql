-- The call has taken in its members: it is not open by itself any more.
UPDATE batches SET
  open = open - 1, filled_at = ?2, finished_at = CASE WHEN open = 1 THEN ?2 END
WHERE id = ?1 AND filled_at IS NULL
RETURNING open
