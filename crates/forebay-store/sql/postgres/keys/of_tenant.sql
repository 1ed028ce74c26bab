SELECT k.id, k.tenant, t.name, k.name, k.hint, k.scopes, k.created_at, k.expires_at, k.revoked_at
FROM keys k JOIN tenants t ON t.id = k.tenant
WHERE k.tenant = ?1
ORDER BY k.created_at DESC, k.id DESC
