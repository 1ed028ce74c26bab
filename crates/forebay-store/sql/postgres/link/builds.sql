SELECT name, build FROM processes WHERE heard_at > ?1 ORDER BY name
