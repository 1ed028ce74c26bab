-- Every blob that a job's rows refer to, with the job.
SELECT j.id, i.blob FROM inputs i JOIN jobs j ON j.seq = i.job WHERE i.blob IS NOT NULL
UNION SELECT j.id, r.output_blob FROM results r JOIN jobs j ON j.seq = r.job WHERE r.output_blob IS NOT NULL
UNION SELECT j.id, s.entry_blob FROM steps s JOIN jobs j ON j.seq = s.job WHERE s.entry_blob IS NOT NULL
UNION SELECT job_id, output_blob FROM reviews WHERE output_blob IS NOT NULL
