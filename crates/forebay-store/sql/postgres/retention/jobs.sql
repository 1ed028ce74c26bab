-- Jobs in accept order, each with when it was accepted.
SELECT job, created_at FROM inputs WHERE job > ?1 ORDER BY job LIMIT ?2
