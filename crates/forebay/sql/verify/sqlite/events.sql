-- A batch's events name it in their body only.
SELECT e.seq, e.tenant, coalesce(j.id, b.id), e.type, e.state_version, e.at, e.body
FROM events e
LEFT JOIN jobs j ON j.seq = e.job
LEFT JOIN batches b ON e.job IS NULL AND b.tenant = e.tenant
  AND b.id = unhex(substr(CAST(e.body AS TEXT) ->> '$.subject', 7))
ORDER BY e.seq
