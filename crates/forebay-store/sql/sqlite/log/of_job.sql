SELECT seq, type, body FROM events WHERE tenant = ?1 AND job_id = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4
