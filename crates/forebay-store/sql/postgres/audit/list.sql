SELECT a.seq, a.at, t.name, a.actor_key, a.actor_name, a.action, a.subject, a.before, a.after
FROM audit a LEFT JOIN tenants t ON t.id = a.tenant
WHERE a.seq < :before
  -- A tenant sees its own affairs; the installation sees all.
  AND (CAST(:tenant AS bigint) IS NULL OR a.tenant = :tenant)
  AND (CAST(:action AS text) IS NULL OR a.action = :action)
  AND (CAST(:subject AS text) IS NULL OR a.subject = :subject)
  AND (CAST(:actor_key AS uuid) IS NULL OR a.actor_key = :actor_key)
  AND a.at >= :since AND a.at < :until
ORDER BY a.seq DESC
LIMIT :limit
