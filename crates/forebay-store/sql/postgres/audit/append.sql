INSERT INTO audit (at, tenant, actor_key, actor_name, action, subject, before, after)
VALUES (:at, :tenant, :actor_key, :actor_name, :action, :subject, :before, :after)
