INSERT INTO budgets (tenant, period_start, reserved_micros, spent_micros, uncertain_micros, overage_micros)
SELECT u.tenant, u.period_start, u.reserved_micros, u.spent_micros, u.uncertain_micros, u.overage_micros
FROM unnest(
  CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]), CAST(?5 AS bigint[]),
  CAST(?6 AS bigint[]))
  AS u (tenant, period_start, reserved_micros, spent_micros, uncertain_micros, overage_micros)
-- Locked in the order of their key, as by everybody.
ORDER BY u.tenant, u.period_start
ON CONFLICT (tenant, period_start) DO UPDATE SET
  reserved_micros = budgets.reserved_micros + excluded.reserved_micros,
  spent_micros = budgets.spent_micros + excluded.spent_micros,
  uncertain_micros = budgets.uncertain_micros + excluded.uncertain_micros,
  overage_micros = budgets.overage_micros + excluded.overage_micros
-- A limit that was looked at before holds still. Where there is none, the comparison says nothing.
WHERE (
  budgets.reserved_micros + budgets.spent_micros + budgets.uncertain_micros
  + excluded.reserved_micros + excluded.spent_micros + excluded.uncertain_micros
  <= (SELECT l.most
      FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?7 AS bigint[])) AS l (tenant, period_start, most)
      WHERE l.tenant = excluded.tenant AND l.period_start = excluded.period_start)) IS NOT FALSE
