INSERT INTO budgets (tenant, period_start, reserved_micros) VALUES (?1, ?2, ?3)
ON CONFLICT (tenant, period_start) DO UPDATE SET reserved_micros = reserved_micros + excluded.reserved_micros
