UPDATE floor_jobs
SET state = 1, fence = fence + 1, lease_until = now() + interval '30 s'
-- An array, so that the rows are looked for once and found by their key.
WHERE id = ANY (ARRAY(SELECT id FROM floor_jobs WHERE state = 0 ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
RETURNING id, fence
