-- Whoever has read the log only up to somewhere before this has missed something.
INSERT INTO log_deleted (tenant, seq)
SELECT tenant, max(seq) FROM events WHERE job IN (SELECT value FROM json_each(?1)) GROUP BY tenant
ON CONFLICT (tenant) DO UPDATE SET seq = max(log_deleted.seq, excluded.seq)
