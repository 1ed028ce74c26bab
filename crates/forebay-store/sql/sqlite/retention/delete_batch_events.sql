-- The event of a batch names it in its body only.
DELETE FROM events WHERE job IS NULL AND seq IN (
  SELECT e.seq FROM batches b JOIN events e ON e.job IS NULL AND e.tenant = b.tenant AND e.at = b.finished_at
  WHERE b.seq IN (SELECT value FROM json_each(?1)) AND json_extract(e.body, '$.subject') = 'batch_' || lower(hex(b.id)))
