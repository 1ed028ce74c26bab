SELECT seq FROM attempts WHERE job = (SELECT seq FROM jobs WHERE id = ?1) AND fence = ?2 AND id = ?3
