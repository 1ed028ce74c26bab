SELECT seq, type, body FROM events WHERE tenant = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3
