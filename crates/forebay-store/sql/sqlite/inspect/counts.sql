SELECT state, count(*) FROM jobs WHERE ?1 IS NULL OR tenant = ?1 GROUP BY state
