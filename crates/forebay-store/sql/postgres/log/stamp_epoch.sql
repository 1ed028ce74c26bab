-- The epoch as it is after the lock was taken, kept for the events that this transaction writes.
SELECT current, set_config('forebay.epoch', CAST(current AS text), true) FROM log_epochs WHERE id = 1
