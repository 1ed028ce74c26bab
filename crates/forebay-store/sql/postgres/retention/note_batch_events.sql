-- As note_events. The event of a batch names it in its body only.
INSERT INTO log_deleted (tenant, epoch, seq)
SELECT DISTINCT ON (e.tenant) e.tenant, e.epoch, e.seq
FROM batches b JOIN events e ON e.job IS NULL AND e.tenant = b.tenant AND e.at = b.finished_at
WHERE b.seq = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v))
  AND CAST(convert_from(e.body, 'UTF8') AS jsonb) ->> 'subject' = 'batch_' || replace(CAST(b.id AS text), '-', '')
ORDER BY e.tenant, e.epoch DESC, e.seq DESC
ON CONFLICT (tenant) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq
WHERE (excluded.epoch, excluded.seq) > (log_deleted.epoch, log_deleted.seq)
