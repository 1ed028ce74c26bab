-- Jobs that do the work of a failed one again, latest first.
SELECT j.id, j.state FROM inputs i JOIN jobs j ON j.seq = i.job
WHERE i.replay_of = ?1
ORDER BY i.job DESC
