-- Due jobs of the same lane with a smaller place, counted up to a bound.
SELECT count(*) FROM (
  SELECT 1 FROM jobs a, jobs j
  WHERE a.claimable AND a.pool = ?1 AND a.tenant = ?2 AND j.seq = (SELECT job FROM inputs WHERE id = ?3)
    AND (a.place, a.seq) < (j.place, j.seq)
  LIMIT 100000) ahead
