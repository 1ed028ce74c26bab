SELECT count(*), count(problem) FROM batch_members WHERE batch = ?1
