SELECT ?1, entry, entry_blob FROM steps
WHERE job = (SELECT job FROM inputs WHERE id = ?1) AND generation = ?2 AND number < ?3
ORDER BY number
