-- Of those that are read: an event of an epoch that is still open is not there yet for anybody. The last row stays
-- when old ones are deleted.
SELECT epoch, seq FROM events WHERE epoch <= (SELECT closed FROM log_epochs WHERE id = 1)
ORDER BY epoch DESC, seq DESC LIMIT 1
