-- The event of a batch names it in its body only.
DELETE FROM events d USING batches b
WHERE d.job IS NULL AND d.tenant = b.tenant AND d.at = b.finished_at AND b.seq = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v))
  AND CAST(convert_from(d.body, 'UTF8') AS jsonb) ->> 'subject' = 'batch_' || replace(CAST(b.id AS text), '-', '')
