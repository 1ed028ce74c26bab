-- The last of some numbers that follow each other: of what a sequence without cache gives, others get nothing in between
-- while it is set. Asked for after all rows are locked, so that a job's later event has the higher number.
SELECT CAST(max(nextval('log_numbers')) AS bigint) FROM generate_series(1, CAST(?1 AS bigint))
