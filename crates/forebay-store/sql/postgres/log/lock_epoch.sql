-- Joins the current epoch until the end of the transaction, unless somebody is closing it. The key is the one of
-- log/close_epoch.
SELECT current, pg_try_advisory_xact_lock_shared(7046000000000000000 + current) FROM log_epochs WHERE id = 1
