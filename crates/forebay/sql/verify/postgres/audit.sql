SELECT seq, at, tenant, actor_name, action, subject, before, after FROM audit ORDER BY seq
