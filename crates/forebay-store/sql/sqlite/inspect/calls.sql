-- Calls in flight of a job's key, how many there may be, and those of its task.
SELECT (SELECT c.in_flight FROM calls c WHERE c.kind = 'key' AND c.name = CAST(j.lane AS TEXT)), k.max_in_flight,
       (SELECT c.in_flight FROM calls c WHERE c.kind = 'task' AND c.name = j.task)
FROM jobs j LEFT JOIN keys k ON k.lane = j.lane
WHERE j.seq = ?1
