-- Jobs that are in hand, before anything else of theirs is written: as by everybody, in the order of their numbers.
SELECT 1 FROM jobs WHERE seq = ANY (CAST(?1 AS bigint[])) ORDER BY seq FOR UPDATE
