-- Reviews are decided by persons: who holds one at the moment, what was decided and by whom, and what happens when
-- nobody decides.
ALTER TABLE reviews ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;           -- the number of its review_required event
ALTER TABLE reviews ADD COLUMN failure_class TEXT;                       -- why it was opened
ALTER TABLE reviews ADD COLUMN failure_message TEXT;
ALTER TABLE reviews ADD COLUMN output_blob BLOB;                         -- where the output is in a blob
ALTER TABLE reviews ADD COLUMN due_default TEXT NOT NULL DEFAULT 'none'
  CHECK (due_default IN ('none', 'approve', 'reject'));
ALTER TABLE reviews ADD COLUMN alerted_at INTEGER;                       -- once, when the due time had passed
ALTER TABLE reviews ADD COLUMN claimed_by BLOB;                          -- a key
ALTER TABLE reviews ADD COLUMN claimed_name TEXT;                        -- as the key was called then
ALTER TABLE reviews ADD COLUMN claimed_until INTEGER
  CHECK ((claimed_by IS NULL) = (claimed_until IS NULL) AND (claimed_by IS NULL) = (claimed_name IS NULL));
ALTER TABLE reviews ADD COLUMN decided_name TEXT;                        -- as the key was called then
ALTER TABLE reviews ADD COLUMN decided_version INTEGER;                  -- the job's version that was decided about
ALTER TABLE reviews ADD COLUMN decision_digest BLOB;                     -- tells the same decision, sent again, from another
ALTER TABLE reviews ADD COLUMN decided_findings BLOB;                    -- JSON: what a correction left in doubt
ALTER TABLE reviews ADD COLUMN decided_seq INTEGER;                      -- the number of the decision's event

-- Until now a job had one review at most.
UPDATE reviews SET
  seq = coalesce(
    (SELECT max(e.seq) FROM events e WHERE e.job_id = reviews.job_id AND e.type = 'review_required'),
    (SELECT j.seq FROM jobs j WHERE j.id = reviews.job_id),
    0),
  failure_class = (SELECT j.failure_class FROM jobs j WHERE j.id = reviews.job_id),
  failure_message = (SELECT j.failure_message FROM jobs j WHERE j.id = reviews.job_id);

DROP INDEX reviews_open;
CREATE INDEX reviews_open ON reviews (tenant, seq) WHERE decided_at IS NULL;
CREATE INDEX reviews_due ON reviews (alerted_at, due_at) WHERE decided_at IS NULL;
CREATE INDEX reviews_decided ON reviews (tenant, decided_seq) WHERE decided_seq IS NOT NULL;

-- A review with its job, as far as those who decide need to know it. The order of the columns is the order in which
-- rows are read; those up to the claim are what the queue shows.
CREATE VIEW review_records AS
SELECT r.seq, r.job_id, r.generation, j.task, j.revision, j.state_version, r.failure_class, r.failure_message,
       r.opened_at, r.due_at, r.due_default, r.alerted_at,
       json_array_length(CAST(r.findings AS TEXT)) AS findings_count,
       (SELECT json_group_array(DISTINCT f.atom) FROM json_tree(CAST(r.findings AS TEXT)) f WHERE f.key = 'code')
         AS finding_codes,
       r.output IS NOT NULL OR r.output_blob IS NOT NULL AS has_output,
       r.claimed_by, r.claimed_name, r.claimed_until,
       r.findings, r.output, r.output_blob, r.provenance, i.document,
       r.decided_at, r.decision, r.decided_by, r.decided_name, r.comment, r.decided_version, r.decided_findings,
       r.decided_seq, r.decision_digest, r.tenant
FROM reviews r JOIN jobs j ON j.id = r.job_id JOIN inputs i ON i.job_id = r.job_id;
