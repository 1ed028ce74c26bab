SELECT p.name, coalesce(c.in_flight, 0) FROM pools p LEFT JOIN calls c ON c.kind = 'pool' AND c.name = p.name
