-- The plus sign keeps the planner from walking through all events of the tenant to find those of the job.
SELECT seq, type, body FROM events WHERE +tenant = ?1 AND job = (SELECT job FROM inputs WHERE id = ?2) AND seq > ?3 ORDER BY seq LIMIT ?4
