-- Of these, those that no row refers to.
SELECT d.digest FROM (SELECT unhex(value) AS digest FROM json_each(?1)) d
WHERE NOT EXISTS (SELECT 1 FROM documents x WHERE x.digest = d.digest)
  AND NOT EXISTS (SELECT 1 FROM inputs x WHERE x.blob = d.digest)
  AND NOT EXISTS (SELECT 1 FROM steps x WHERE x.entry_blob = d.digest)
  AND NOT EXISTS (SELECT 1 FROM results x WHERE x.output_blob = d.digest)
  AND NOT EXISTS (SELECT 1 FROM reviews x WHERE x.output_blob = d.digest)
  AND NOT EXISTS (SELECT 1 FROM datasets x WHERE x.digest = d.digest)
