SELECT a.job FROM inputs i JOIN attempts a ON a.job = i.job
WHERE i.id = ?1 AND a.fence = ?2 AND a.id = ?3
