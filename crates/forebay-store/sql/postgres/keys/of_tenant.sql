SELECT k.id, k.tenant, t.name, k.name, k.hint, k.scopes, k.created_at, k.expires_at, k.revoked_at,
       k.max_in_flight, c.in_flight
FROM keys k JOIN tenants t ON t.id = k.tenant
LEFT JOIN LATERAL (SELECT * FROM calls WHERE kind = 'key' AND name = CAST(k.lane AS text) OFFSET 0) c ON true
WHERE k.tenant = ?1
ORDER BY k.created_at DESC, k.id DESC
