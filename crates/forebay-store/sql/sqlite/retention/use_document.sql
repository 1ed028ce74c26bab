-- A job refers to it.
UPDATE documents SET used_at = ?3
WHERE tenant = ?1 AND digest = ?2 AND EXISTS (SELECT 1 FROM inputs i WHERE i.document = ?2 AND i.tenant = ?1)
