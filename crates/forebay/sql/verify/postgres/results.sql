SELECT j.id, r.generation, r.output, r.provenance, r.created_at FROM results r JOIN jobs j ON j.seq = r.job
