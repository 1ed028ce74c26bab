SELECT entry, entry_blob FROM steps
WHERE job = (SELECT seq FROM jobs WHERE id = ?1) AND generation = ?2 AND number < ?3
ORDER BY number
