-- What is added up over stands as nothing in every row, so that rows which differ in it alone become one.
SELECT name, day, task, model, pool, CAST(sum(attempts) AS bigint), CAST(sum(input_tokens) AS bigint),
       CAST(sum(output_tokens) AS bigint), CAST(sum(cost_micros) AS bigint), CAST(sum(uncertain_micros) AS bigint)
FROM (
  SELECT CASE WHEN CAST(:by_tenant AS boolean) THEN t.name ELSE '' END AS name,
         CASE WHEN CAST(:by_day AS boolean) THEN u.day ELSE 0 END AS day,
         CASE WHEN CAST(:by_task AS boolean) THEN u.task ELSE '' END AS task,
         CASE WHEN CAST(:by_model AS boolean) THEN u.model ELSE '' END AS model,
         CASE WHEN CAST(:by_pool AS boolean) THEN u.pool ELSE '' END AS pool, attempts, input_tokens, output_tokens,
         cost_micros, uncertain_micros
  FROM usage_days u JOIN tenants t ON t.id = u.tenant
  -- One tenant, or all of them.
  WHERE u.tenant BETWEEN :first_tenant AND :last_tenant AND u.day BETWEEN :from AND :to
) days
GROUP BY day, name, task, model, pool
HAVING (day, name, task, model, pool)
     > (CAST(:after_day AS bigint), CAST(:after_name AS text), CAST(:after_task AS text), CAST(:after_model AS text),
        CAST(:after_pool AS text))
ORDER BY day, name, task, model, pool
LIMIT :limit
