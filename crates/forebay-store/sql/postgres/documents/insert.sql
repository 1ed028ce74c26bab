INSERT INTO documents (tenant, digest, bytes, media_type, created_at, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
ON CONFLICT (tenant, digest) DO NOTHING
