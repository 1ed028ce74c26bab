-- Of jobs whose ids are given as a JSON array of hex digits.
SELECT id, fence FROM jobs WHERE id IN (SELECT unhex(value) FROM json_each(?1))
