-- A bucket holds a limit of jobs; what a transaction took in is taken out of it. Where another process was faster, so that
-- it holds less than that, no row is written, and the transaction begins anew.
INSERT INTO submit_rates (counted, who, full_at)
SELECT u.counted, u.who, u.now + u.taken
FROM unnest(
  CAST(:counted AS text[]), CAST(:who AS text[]), CAST(:taken AS bigint[]), CAST(:whole AS bigint[]),
  CAST(:now AS bigint[]))
  AS u (counted, who, taken, whole, now)
-- Locked in the order of their key, as by everybody.
ORDER BY u.counted, u.who
ON CONFLICT (counted, who) DO UPDATE SET
  full_at = greatest(submit_rates.full_at, (CAST(:now AS bigint[]))[1]) + (excluded.full_at - (CAST(:now AS bigint[]))[1])
WHERE greatest(submit_rates.full_at, (CAST(:now AS bigint[]))[1]) + (excluded.full_at - (CAST(:now AS bigint[]))[1])
  <= (SELECT l.now + l.whole
      FROM unnest(CAST(:counted AS text[]), CAST(:who AS text[]), CAST(:whole AS bigint[]), CAST(:now AS bigint[]))
        AS l (counted, who, whole, now)
      WHERE l.counted = excluded.counted AND l.who = excluded.who)
