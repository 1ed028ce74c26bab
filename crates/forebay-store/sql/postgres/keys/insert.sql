INSERT INTO keys (id, tenant, name, digest, hint, scopes, created_at, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
