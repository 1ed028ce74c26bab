-- Which statements took the server's time, most first: their text on one line, how often, and how many microseconds in all.
SELECT left(regexp_replace(query, '\s+', ' ', 'g'), 200), calls::float8, total_exec_time * 1000
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY total_exec_time DESC
LIMIT 40
