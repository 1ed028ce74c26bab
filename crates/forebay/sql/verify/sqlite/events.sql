-- A batch's events name it in their body only.
SELECT j.id, e.seq, 0 AS epoch, e.tenant, e.type, e.state_version, e.at, e.body
FROM events e LEFT JOIN jobs j ON j.seq = e.job
ORDER BY e.seq
