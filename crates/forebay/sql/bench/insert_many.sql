INSERT INTO floor_jobs (payload) SELECT unnest($1::text[]) RETURNING id
