SELECT count(DISTINCT tenant) FROM jobs WHERE claimable = 1 AND pool = ?1
