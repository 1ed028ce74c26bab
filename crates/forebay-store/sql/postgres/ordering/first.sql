-- Asked when a job is accepted, so that it and the end of the key's first job come one after the other. Either this
-- waits for that end, and then finds no first job any more: the caller's becomes the first, or, where the end has made
-- another one the first, is refused by jobs_first_of_key and starts again. Or that end waits for the caller's commit,
-- and finds its job. While one waits for the other, no job of the key is left without somebody who lets it go.
SELECT 1 FROM jobs
WHERE tenant = ?1 AND task = ?2 AND ordering_key = ?3 AND key_first AND finished_at IS NULL
FOR SHARE
