-- Whoever has read the log only up to somewhere before this has missed something.
INSERT INTO log_deleted (tenant, epoch, seq)
SELECT DISTINCT ON (tenant) tenant, epoch, seq FROM events WHERE job = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v)) ORDER BY tenant, epoch DESC, seq DESC
ON CONFLICT (tenant) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq
WHERE (excluded.epoch, excluded.seq) > (log_deleted.epoch, log_deleted.seq)
