-- Nothing is added any more to what is read here. The tenant is compared together with the place, so that other tenants'
-- events are not passed on the way.
SELECT epoch, seq, type, body FROM events
WHERE (tenant, epoch, seq) > (CAST(?1 AS bigint), CAST(?2 AS bigint), CAST(?3 AS bigint))
  AND tenant <= ?1
  AND epoch <= (SELECT closed FROM log_epochs WHERE id = 1)
ORDER BY tenant, epoch, seq LIMIT ?4
