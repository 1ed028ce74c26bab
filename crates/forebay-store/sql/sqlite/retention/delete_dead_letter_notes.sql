-- Before the inputs, which say which job that is.
DELETE FROM dead_letter_notes WHERE job_id IN (SELECT id FROM inputs WHERE job IN (SELECT value FROM json_each(?1)))
