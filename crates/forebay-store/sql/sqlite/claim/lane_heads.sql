-- The planner keeps to the order of the cross join: first the index of the lane, then each job by its number.
SELECT r.*
FROM (
  SELECT place, seq FROM jobs
  WHERE claimable = 1 AND pool = ?1 AND tenant = ?2
  ORDER BY place, seq LIMIT ?3) front
CROSS JOIN job_records r ON r.seq = front.seq
ORDER BY front.place, front.seq
