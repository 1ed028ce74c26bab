-- Asked once the lock on it is there: fails where the epoch has moved on before.
SELECT 1 / CAST(CAST(current AS text) = current_setting('forebay.epoch') AS integer) FROM log_epochs WHERE id = 1
