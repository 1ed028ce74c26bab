-- How things stand for whoever follows what others do: up to where the log can be read, whether there is more that can't
-- be read yet, and which revision is active.
SELECT l.closed, EXISTS (SELECT 1 FROM events e WHERE e.epoch > l.closed), m.active_revision
FROM log_epochs l LEFT JOIN meta m ON m.id = 1
WHERE l.id = 1
