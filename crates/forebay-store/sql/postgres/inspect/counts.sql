SELECT j.state, count(*) FROM inputs n JOIN jobs j ON j.seq = n.job WHERE CAST(?1 AS bigint) IS NULL OR n.tenant = ?1 GROUP BY j.state
