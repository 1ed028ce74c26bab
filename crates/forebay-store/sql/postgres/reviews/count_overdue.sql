SELECT count(*) FROM reviews WHERE decided_at IS NULL AND due_at <= ?1
