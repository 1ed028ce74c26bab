-- expand
-- Jobs that were handed over in one call. The row of a batch is locked after those of its jobs.
CREATE TABLE batches (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              BLOB    NOT NULL UNIQUE,
  tenant          INTEGER NOT NULL,
  kind            TEXT    NOT NULL CHECK (kind IN ('jobs', 'replay')),
  size            INTEGER NOT NULL,        -- how many members its call has, or may have
  -- Members whose job has not ended, and one more as long as its call takes members in. A cache that can be
  -- recomputed from rows.
  open            INTEGER NOT NULL CHECK (open >= 0),
  idempotency_key TEXT,
  key_expires_at  INTEGER,
  body_digest     BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  filled_at       INTEGER,                 -- when its call had taken in all members
  cancelled_at    INTEGER,
  finished_at     INTEGER,
  CHECK ((open = 0) = (finished_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX batches_of_key ON batches (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX batches_of_tenant ON batches (tenant, seq);

-- What became of each member of a batch's call, in its order. A job may be a member of several batches.
CREATE TABLE batch_members (
  batch     BLOB    NOT NULL,
  position  INTEGER NOT NULL,
  job_id    BLOB,
  replay_of BLOB,
  replayed  INTEGER NOT NULL,              -- whether the job had been accepted before
  status    INTEGER NOT NULL,              -- as the member's own call would have been answered
  problem   TEXT,                          -- JSON
  PRIMARY KEY (batch, position),
  CHECK ((job_id IS NULL) = (problem IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_members_of_job ON batch_members (job_id) WHERE job_id IS NOT NULL;
