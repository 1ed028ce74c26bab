UPDATE floor_jobs f
SET state = 2, result = done.result
FROM (SELECT unnest($1::bigint[]) AS id, unnest($2::int[]) AS fence, unnest($3::text[]) AS result) done
WHERE f.id = done.id AND f.fence = done.fence AND f.state = 1
