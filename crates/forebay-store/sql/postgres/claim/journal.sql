-- Of each job its entries come in the order of its steps.
SELECT i.id, s.entry, s.entry_blob
FROM unnest(CAST(?1 AS uuid[]), CAST(?2 AS integer[]), CAST(?3 AS integer[])) AS u (id, generation, step)
JOIN inputs i ON i.id = ANY (ARRAY[u.id])
JOIN steps s ON s.job = i.job AND s.generation = u.generation AND s.number < u.step
ORDER BY s.job, s.number
