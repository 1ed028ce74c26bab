-- Found by their permits, which lapse with the lease: that of a job that has ended is an attempt's alone.
SELECT j.id, j.task, j.revision
FROM attempts a JOIN jobs j ON j.seq = a.job AND j.fence = a.fence
WHERE a.permit_until <= ?1 AND j.lease_until <= ?1
ORDER BY a.permit_until LIMIT ?2
