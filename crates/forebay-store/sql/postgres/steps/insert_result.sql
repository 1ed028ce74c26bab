INSERT INTO results (job, generation, output, output_blob, provenance, created_at)
SELECT *
FROM unnest(
  CAST(?1 AS bigint[]), CAST(?2 AS integer[]), CAST(?3 AS bytea[]), CAST(?4 AS bytea[]), CAST(?5 AS bytea[]),
  CAST(?6 AS bigint[]))
