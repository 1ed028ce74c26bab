INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4)
