SELECT r.output, r.output_blob, r.provenance
FROM results r JOIN jobs j ON j.seq = r.job AND j.generation = r.generation
WHERE j.tenant = ?1 AND j.id = ?2
