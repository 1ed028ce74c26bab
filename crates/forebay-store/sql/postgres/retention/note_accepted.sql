UPDATE retention SET accepted_until = greatest(accepted_until, coalesce((SELECT max(created_at) FROM inputs WHERE job = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v))), 0))
WHERE id = 1
