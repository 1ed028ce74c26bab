-- What was charged to a pool in buckets of these widths, less what was given back of it.
SELECT width, start, max(sum(requests), 0), max(sum(input_tokens), 0), max(sum(output_tokens), 0)
FROM pool_buckets WHERE pool = ?1 AND width IN (?2, ?3)
GROUP BY width, start
