SELECT job_id, generation, number, finished_at, entry, entry IS NOT NULL OR entry_blob IS NOT NULL
FROM steps ORDER BY job_id, generation, number
