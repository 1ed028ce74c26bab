-- The first start gives the store its identity; every later one finds it.
INSERT INTO meta (id, store_id, incarnation, cursor_secret, created_at)
VALUES (1, ?1, ?2, ?3, ?4)
ON CONFLICT (id) DO NOTHING
