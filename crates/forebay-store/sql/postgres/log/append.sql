-- The transaction has set its epoch just before, and holds it.
INSERT INTO events (epoch, seq, tenant, job, type, state_version, at, body)
SELECT CAST(current_setting('forebay.epoch') AS bigint), u.*
FROM unnest(
  CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS text[]), CAST(?5 AS bigint[]),
  CAST(?6 AS bigint[]), CAST(?7 AS bytea[]))
  AS u (seq, tenant, job, type, state_version, at, body)
