-- Every blob that a job's rows refer to, with the job.
SELECT job_id, blob FROM inputs WHERE blob IS NOT NULL
UNION SELECT job_id, output_blob FROM results WHERE output_blob IS NOT NULL
UNION SELECT job_id, entry_blob FROM steps WHERE entry_blob IS NOT NULL
UNION SELECT job_id, output_blob FROM reviews WHERE output_blob IS NOT NULL
