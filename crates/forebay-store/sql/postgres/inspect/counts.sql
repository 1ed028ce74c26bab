SELECT state, count(*) FROM jobs WHERE CAST(?1 AS bigint) IS NULL OR tenant = ?1 GROUP BY state
