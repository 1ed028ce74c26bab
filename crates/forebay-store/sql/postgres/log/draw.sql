-- So many numbers, which rise; others may get some in between. Asked for after all rows are locked, so that a job's later
-- event has the higher number.
SELECT nextval('log_numbers') FROM generate_series(1, CAST(?1 AS bigint))
