-- Held until the commit: what a job refers to is not removed while it is accepted. For writes only.
SELECT 1 FROM documents WHERE tenant = ?1 AND digest = ?2 FOR KEY SHARE
