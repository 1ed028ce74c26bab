SELECT at, author_key, author_name, text FROM dead_letter_notes WHERE job_id = ?1 ORDER BY seq
