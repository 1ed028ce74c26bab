DELETE FROM batch_members WHERE batch = ANY (ARRAY(SELECT id FROM batches WHERE seq = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v))))
