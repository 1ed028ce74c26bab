SELECT reserved_micros, spent_micros, uncertain_micros FROM budgets WHERE tenant = ?1 AND period_start = ?2
