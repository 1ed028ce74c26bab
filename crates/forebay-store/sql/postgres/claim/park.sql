-- Out of its lane until then. Not a change of state: no event, no version, and its place stays.
UPDATE jobs j SET claimable = false, available_at = u.until
FROM (
  -- Locked in the order of their numbers, as by everybody.
  SELECT * FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[])) AS u (seq, until)
  ORDER BY u.seq) u
WHERE j.seq = ANY (ARRAY[u.seq]) AND j.state IN ('READY', 'RETRY_SCHEDULED')
