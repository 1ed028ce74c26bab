-- Calls under way in a pool, those of a task, and until when the pool rests.
SELECT (SELECT in_flight FROM calls WHERE kind = 'pool' AND name = ?1),
       (SELECT in_flight FROM calls WHERE kind = 'task' AND name = ?2),
       (SELECT cooldown_until FROM pools WHERE name = ?1)
