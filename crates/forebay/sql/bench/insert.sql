INSERT INTO floor_jobs (payload) VALUES ($1) RETURNING id
