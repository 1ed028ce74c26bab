SELECT tenant, period_start, spent_micros, uncertain_micros, overage_micros FROM deleted_money
