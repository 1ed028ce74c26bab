-- expand
-- Decisions that persons owe: who holds one at the moment, what was decided and by whom, and what happens when nobody
-- decides.
CREATE TABLE reviews (
  job_id           UUID    NOT NULL,
  generation       INTEGER NOT NULL,
  seq              BIGINT  NOT NULL,       -- the number of its review_required event
  tenant           BIGINT  NOT NULL,
  opened_at        BIGINT  NOT NULL,
  due_at           BIGINT  NOT NULL,
  due_default      TEXT    NOT NULL DEFAULT 'none' CHECK (due_default IN ('none', 'approve', 'reject')),
  alerted_at       BIGINT,                 -- once, when the due time had passed
  failure_class    TEXT,                   -- why it was opened
  failure_message  TEXT,
  findings         BYTEA   NOT NULL,       -- JSON
  output           BYTEA,                  -- JSON; null when there is nothing to approve, or it is in a blob
  output_blob      BYTEA,
  provenance       BYTEA   NOT NULL,       -- JSON
  claimed_by       UUID,                   -- a key
  claimed_name     TEXT,                   -- as the key was called then
  claimed_until    BIGINT,
  decided_at       BIGINT,
  decision         TEXT CHECK (decision IN ('approve', 'correct', 'reject', 'rerun', 'cancelled')),
  decided_by       UUID,
  decided_name     TEXT,                   -- as the key was called then
  comment          TEXT,
  decided_version  BIGINT,                 -- the job's version that was decided about
  decision_digest  BYTEA,                  -- tells the same decision, sent again, from another
  decided_findings BYTEA,                  -- JSON: what a correction left in doubt
  decided_seq      BIGINT,                 -- the number of the decision's event
  PRIMARY KEY (job_id, generation),
  CHECK ((claimed_by IS NULL) = (claimed_until IS NULL) AND (claimed_by IS NULL) = (claimed_name IS NULL))
);
CREATE INDEX reviews_open ON reviews (tenant, seq) WHERE decided_at IS NULL;
-- What nobody was told of yet, and what is overdue whoever was told.
CREATE INDEX reviews_due ON reviews (due_at, seq) WHERE decided_at IS NULL AND alerted_at IS NULL;
CREATE INDEX reviews_overdue ON reviews (due_at) WHERE decided_at IS NULL;
CREATE INDEX reviews_decided ON reviews (tenant, decided_seq) WHERE decided_seq IS NOT NULL;

-- A review with its job, as far as those who decide need to know it. The order of the columns is the order in which
-- rows are read; those up to the claim are what the queue shows.
CREATE VIEW review_records AS
SELECT r.seq, r.job_id, r.generation, j.task, j.revision, j.state_version, r.failure_class, r.failure_message,
       r.opened_at, r.due_at, r.due_default, r.alerted_at,
       CASE WHEN jsonb_typeof(f.findings) = 'array'
         THEN CAST(jsonb_array_length(f.findings) AS bigint) ELSE 0 END AS findings_count,
       -- Each code once, in the order of the findings.
       (SELECT CAST(coalesce(jsonb_agg(c.code ORDER BY c.place), '[]') AS text)
        FROM (SELECT found.code, min(found.place) AS place
              FROM jsonb_path_query(f.findings, '$.**.code ? (@.type() == "string")')
                WITH ORDINALITY AS found (code, place)
              GROUP BY found.code) c) AS finding_codes,
       r.output IS NOT NULL OR r.output_blob IS NOT NULL AS has_output,
       r.claimed_by, r.claimed_name, r.claimed_until,
       r.findings, r.output, r.output_blob, r.provenance, i.document,
       r.decided_at, r.decision, r.decided_by, r.decided_name, r.comment, r.decided_version, r.decided_findings,
       r.decided_seq, r.decision_digest, r.tenant
FROM reviews r JOIN inputs i ON i.id = r.job_id JOIN jobs j ON j.seq = i.job
-- What a finding points to is named by a model, and may hold a NUL, which no value of the type jsonb can have: its
-- picture stands for it. Neither codes nor their number change by that.
CROSS JOIN LATERAL (
  SELECT CAST(replace(convert_from(r.findings, 'UTF8'), '\u0000', '\u2400') AS jsonb) AS findings
) f;
