-- A bucket holds a limit of jobs; what a transaction took in is taken out of it. What was looked at before holds still.
INSERT INTO submit_rates (counted, who, full_at) VALUES (:counted, :who, :now + :taken)
ON CONFLICT (counted, who) DO UPDATE SET full_at = max(full_at, :now) + :taken
WHERE max(full_at, :now) + :taken <= :now + :whole
