-- Joins the current epoch until the end of the transaction, and keeps it for the events that this transaction writes;
-- fails where somebody is closing it, who has moved it on already. The key is the one of log/wait_for_epoch.
SELECT set_config('forebay.epoch', CAST(current / CAST(
  pg_try_advisory_xact_lock_shared(7046000000000000000 + current) AS integer) AS text), true)
FROM log_epochs WHERE id = 1
