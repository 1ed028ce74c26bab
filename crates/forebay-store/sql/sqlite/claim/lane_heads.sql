-- The planner keeps to the order of the cross joins: first the index of the lane, then each job by its id.
SELECT r.*, s.model, s.input_tokens, s.output_tokens
FROM (
  SELECT id, place, seq FROM jobs
  WHERE claimable = 1 AND pool = ?1 AND tenant = ?2
  ORDER BY place, seq LIMIT ?3) front
CROSS JOIN job_records r ON r.id = front.id
CROSS JOIN steps s ON s.job_id = r.id AND s.generation = r.generation AND s.number = r.step
ORDER BY front.place, front.seq
