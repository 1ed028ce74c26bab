-- Of jobs whose ids are given as a JSON array of hex digits.
SELECT id, fence FROM jobs
WHERE id IN (SELECT CAST(given AS uuid) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) given)
