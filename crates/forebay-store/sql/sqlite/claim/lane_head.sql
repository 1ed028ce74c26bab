SELECT r.*, s.model, s.input_tokens, s.output_tokens
FROM job_records r JOIN steps s ON s.job_id = r.id AND s.generation = r.generation AND s.number = r.step
WHERE r.id = (
  SELECT id FROM jobs
  WHERE claimable = 1 AND pool = ?1 AND tenant = ?2
  ORDER BY place, seq LIMIT 1)
