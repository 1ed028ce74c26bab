-- Before the inputs, which say which job that is.
DELETE FROM reviews WHERE job_id = ANY (ARRAY(SELECT id FROM inputs WHERE job = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v))))
