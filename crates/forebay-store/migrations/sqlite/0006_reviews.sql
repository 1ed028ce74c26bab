-- expand
-- Decisions that persons owe: who holds one at the moment, what was decided and by whom, and what happens when nobody
-- decides.
CREATE TABLE reviews (
  job_id           BLOB    NOT NULL,
  generation       INTEGER NOT NULL,
  seq              INTEGER NOT NULL,       -- the number of its review_required event
  tenant           INTEGER NOT NULL,
  failure_class    TEXT,                   -- why it was opened
  failure_message  TEXT,
  opened_at        INTEGER NOT NULL,
  due_at           INTEGER NOT NULL,
  due_default      TEXT    NOT NULL DEFAULT 'none' CHECK (due_default IN ('none', 'approve', 'reject')),
  alerted_at       INTEGER,                -- once, when the due time had passed
  findings         BLOB    NOT NULL,       -- JSON
  output           BLOB,                   -- JSON; null when there is nothing to approve, or it is in a blob
  output_blob      BLOB,
  provenance       BLOB    NOT NULL,       -- JSON
  claimed_by       BLOB,                   -- a key
  claimed_name     TEXT,                   -- as the key was called then
  claimed_until    INTEGER,
  decided_at       INTEGER,
  decision         TEXT CHECK (decision IN ('approve', 'correct', 'reject', 'rerun', 'cancelled')),
  decided_by       BLOB,
  decided_name     TEXT,                   -- as the key was called then
  comment          TEXT,
  decided_version  INTEGER,                -- the job's version that was decided about
  decision_digest  BLOB,                   -- tells the same decision, sent again, from another
  decided_findings BLOB,                   -- JSON: what a correction left in doubt
  decided_seq      INTEGER,                -- the number of the decision's event
  PRIMARY KEY (job_id, generation),
  CHECK ((claimed_by IS NULL) = (claimed_until IS NULL) AND (claimed_by IS NULL) = (claimed_name IS NULL))
) STRICT, WITHOUT ROWID;
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
FROM reviews r JOIN inputs i ON i.id = r.job_id JOIN jobs j ON j.seq = i.job;
