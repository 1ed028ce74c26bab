-- What nobody was told of. A default decision waits for whoever holds the review.
SELECT r.tenant, r.job_id, r.generation, j.state_version, r.due_default,
       r.output IS NOT NULL OR r.output_blob IS NOT NULL
FROM reviews r JOIN inputs n ON n.id = r.job_id JOIN jobs j ON j.seq = n.job
WHERE r.decided_at IS NULL AND r.alerted_at IS NULL AND r.due_at <= ?1
  AND (r.due_default = 'none' OR coalesce(r.claimed_until, 0) <= ?1)
ORDER BY r.due_at, r.seq LIMIT ?2
