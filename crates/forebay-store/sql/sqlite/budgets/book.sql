INSERT INTO budgets (tenant, period_start, reserved_micros, spent_micros, uncertain_micros, overage_micros)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant, period_start) DO UPDATE SET
  reserved_micros = reserved_micros + excluded.reserved_micros,
  spent_micros = spent_micros + excluded.spent_micros,
  uncertain_micros = uncertain_micros + excluded.uncertain_micros,
  overage_micros = overage_micros + excluded.overage_micros
-- A limit that was looked at before holds still.
WHERE ?7 IS NULL OR reserved_micros + spent_micros + uncertain_micros + ?3 + ?4 + ?5 <= ?7
