-- What is added up over stands as nothing in every row, so that rows which differ in it alone become one.
SELECT name, day, task, model, pool, sum(attempts), sum(input_tokens), sum(output_tokens), sum(cost_micros),
       sum(uncertain_micros)
FROM (
  SELECT CASE WHEN :by_tenant THEN t.name ELSE '' END AS name, CASE WHEN :by_day THEN u.day ELSE 0 END AS day,
         CASE WHEN :by_task THEN u.task ELSE '' END AS task, CASE WHEN :by_model THEN u.model ELSE '' END AS model,
         CASE WHEN :by_pool THEN u.pool ELSE '' END AS pool, attempts, input_tokens, output_tokens, cost_micros,
         uncertain_micros
  FROM usage_days u JOIN tenants t ON t.id = u.tenant
  -- One tenant, or all of them.
  WHERE u.tenant BETWEEN :first_tenant AND :last_tenant AND u.day BETWEEN :from AND :to
) days
GROUP BY day, name, task, model, pool
HAVING (day, name, task, model, pool) > (:after_day, :after_name, :after_task, :after_model, :after_pool)
ORDER BY day, name, task, model, pool
LIMIT :limit
