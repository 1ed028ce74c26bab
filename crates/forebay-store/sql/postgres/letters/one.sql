SELECT d.seq, d.state, d.owner, d.updated_at,
       (SELECT count(*) FROM dead_letter_notes n WHERE n.job_id = d.job_id), r.*
FROM dead_letters d JOIN job_records r ON r.id = d.job_id
WHERE d.tenant = ?1 AND d.job_id = ?2
