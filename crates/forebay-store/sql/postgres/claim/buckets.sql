-- What was charged to a pool in buckets of these widths, less what was given back of it.
SELECT width, start, CAST(greatest(sum(requests), 0) AS bigint), CAST(greatest(sum(input_tokens), 0) AS bigint),
       CAST(greatest(sum(output_tokens), 0) AS bigint)
FROM pool_buckets WHERE pool = ?1 AND width IN (?2, ?3)
GROUP BY width, start
