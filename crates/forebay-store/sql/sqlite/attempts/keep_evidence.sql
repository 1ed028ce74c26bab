-- What came first is kept: a second report of the same worker says nothing new.
UPDATE attempts SET evidence = ?3 WHERE job = ?1 AND fence = ?2 AND evidence IS NULL
