SELECT budget_micros, budget_period FROM tenants WHERE id = ?1
