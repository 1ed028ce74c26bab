-- What came first is kept: a second report of the same worker says nothing new.
UPDATE attempts SET evidence = ?2 WHERE seq = ?1 AND evidence IS NULL
