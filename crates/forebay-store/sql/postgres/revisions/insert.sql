INSERT INTO revisions (number, source, digest, comment, created_by, created_at)
VALUES ((SELECT coalesce(max(number), 0) + 1 FROM revisions), ?1, ?2, ?3, ?4, ?5)
