-- Buckets that are full again. They are few, so that no index has to be told of every job. What somebody takes from right
-- now is left alone.
DELETE FROM submit_rates WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM submit_rates WHERE full_at <= ?1 LIMIT ?2 FOR UPDATE SKIP LOCKED))
