INSERT INTO keys (id, tenant, name, digest, hint, scopes, lane, max_in_flight, created_at, expires_at)
VALUES (:id, :tenant, :name, :digest, :hint, :scopes, :lane, :max_in_flight, :now, :expires_at)
