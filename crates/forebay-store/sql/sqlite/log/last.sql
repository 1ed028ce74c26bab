-- The last row stays when old ones are deleted.
SELECT 0, seq FROM events ORDER BY seq DESC LIMIT 1
