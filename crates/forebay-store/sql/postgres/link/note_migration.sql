INSERT INTO migrations (number, name, checksum, applied_at, kind, release) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
