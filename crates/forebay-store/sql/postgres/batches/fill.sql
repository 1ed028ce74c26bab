-- The call has taken in its members: it is not open by itself any more.
UPDATE batches SET
  open = open - 1, filled_at = CAST(?2 AS bigint), finished_at = CASE WHEN open = 1 THEN CAST(?2 AS bigint) END
WHERE id = ?1 AND filled_at IS NULL
RETURNING open
