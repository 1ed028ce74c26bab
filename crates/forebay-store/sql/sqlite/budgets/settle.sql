-- Booked in the period of the reservation, whatever period it is now.
UPDATE budgets SET
  reserved_micros = reserved_micros - :reserved,
  spent_micros = spent_micros + :spent,
  uncertain_micros = uncertain_micros + :uncertain,
  overage_micros = overage_micros + :overage
WHERE tenant = :tenant AND period_start = :period_start
