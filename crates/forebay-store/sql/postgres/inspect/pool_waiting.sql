-- Counted up to a bound: the figure is for people, and the cost must not grow with the backlog.
SELECT count(*) FROM (SELECT 1 FROM jobs WHERE claimable AND pool = ?1 LIMIT 100000) waiting
