-- There is one writer: nobody else changes them.
SELECT seq FROM jobs WHERE seq IN (SELECT value FROM json_each(?1)) ORDER BY seq
