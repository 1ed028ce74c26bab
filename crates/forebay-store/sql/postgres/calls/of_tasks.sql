SELECT c.name, c.in_flight
FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) AS u (name) JOIN calls c ON c.kind = 'task' AND c.name = u.name
