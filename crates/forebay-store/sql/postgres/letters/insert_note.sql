INSERT INTO dead_letter_notes (job_id, at, author_key, author_name, text) VALUES (?1, ?2, ?3, ?4, ?5)
