INSERT INTO deleted_money (tenant, period_start, spent_micros, uncertain_micros, overage_micros)
SELECT a.tenant, a.budget_start, sum(coalesce(a.cost_micros, 0)), sum(coalesce(a.uncertain_micros, 0)),
       sum(coalesce(a.overage_micros, 0))
FROM attempts a
WHERE a.job IN (SELECT value FROM json_each(?1))
GROUP BY a.tenant, a.budget_start
ON CONFLICT (tenant, period_start) DO UPDATE SET
  spent_micros = deleted_money.spent_micros + excluded.spent_micros,
  uncertain_micros = deleted_money.uncertain_micros + excluded.uncertain_micros,
  overage_micros = deleted_money.overage_micros + excluded.overage_micros
