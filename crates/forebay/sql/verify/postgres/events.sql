-- A batch's events name it in their body only. The order is that of the log.
SELECT j.id, e.seq, e.epoch, e.tenant, e.type, e.state_version, e.at, e.body
FROM events e LEFT JOIN jobs j ON j.seq = e.job
ORDER BY e.epoch, e.seq
