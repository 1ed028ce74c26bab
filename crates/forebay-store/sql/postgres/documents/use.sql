-- It is wanted again: as if it had come just now.
UPDATE documents SET used_at = ?3 WHERE tenant = ?1 AND digest = ?2
