-- The journal, and the step that each job is at.
SELECT j.id, s.generation, s.number, s.finished_at, s.entry, s.entry IS NOT NULL OR s.entry_blob IS NOT NULL
FROM steps s JOIN jobs j ON j.seq = s.job
UNION ALL
SELECT j.id, j.generation, j.step, NULL, NULL, false
FROM jobs j
WHERE NOT EXISTS (
  SELECT 1 FROM steps s WHERE s.job = j.seq AND s.generation = j.generation AND s.number = j.step)
ORDER BY 1, 2, 3
