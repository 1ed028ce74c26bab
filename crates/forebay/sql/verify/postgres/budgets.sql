SELECT tenant, period_start, reserved_micros, spent_micros, uncertain_micros, overage_micros FROM budgets
