SELECT full_at FROM submit_rates WHERE counted = ?1 AND who = ?2
