INSERT INTO floor_jobs (payload) SELECT $1::text FROM generate_series(1, $2::bigint)
