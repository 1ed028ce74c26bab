DELETE FROM batch_members WHERE batch IN (SELECT id FROM batches WHERE seq IN (SELECT value FROM json_each(?1)))
