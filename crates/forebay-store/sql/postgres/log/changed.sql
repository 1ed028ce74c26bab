-- What can be read after an event that is given by its epoch and number, and whose job that is. The events come first,
-- and then their jobs by their numbers.
SELECT e.epoch, e.seq, e.tenant, j.id
FROM (
  SELECT epoch, seq, tenant, job FROM events
  WHERE (epoch, seq) > (?1, ?2) AND epoch <= (SELECT closed FROM log_epochs WHERE id = 1)
  ORDER BY epoch, seq LIMIT ?3
) e LEFT JOIN jobs j ON j.seq = e.job
ORDER BY e.epoch, e.seq
