-- Nobody else changes them until the commit. Who is about to change one is not waited for: the next pass comes.
SELECT seq FROM batches WHERE seq = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST(CAST(?1 AS text) AS jsonb)) v)) ORDER BY seq FOR UPDATE SKIP LOCKED
