DELETE FROM processes WHERE heard_at < ?1
