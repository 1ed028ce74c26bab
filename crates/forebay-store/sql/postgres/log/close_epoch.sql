UPDATE log_epochs SET closed = CAST(?1 AS bigint) WHERE id = 1 AND closed < CAST(?1 AS bigint)
