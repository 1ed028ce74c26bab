-- The events of one job come one after the other, since its row is locked by whoever writes them: their numbers rise
-- with their epochs. The plus sign keeps the planner from walking through all events of the tenant to find those of the
-- job.
SELECT epoch, seq, type, body FROM events
WHERE +tenant = ?1 AND job = (SELECT job FROM inputs WHERE id = ?2) AND (epoch, seq) > (?3, ?4)
  AND epoch <= (SELECT closed FROM log_epochs WHERE id = 1)
ORDER BY epoch, seq LIMIT ?5
