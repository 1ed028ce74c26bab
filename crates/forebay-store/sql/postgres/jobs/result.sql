SELECT r.output, r.output_blob, r.provenance
FROM inputs n JOIN jobs j ON j.seq = n.job
  JOIN results r ON r.job = j.seq AND r.generation = j.generation
WHERE n.tenant = ?1 AND n.id = ?2
