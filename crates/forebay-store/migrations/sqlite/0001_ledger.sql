-- The ledger. Times are milliseconds UTC, money is in micro-units, ids are the 16 bytes of a UUID.
-- Migrations are append-only: what stands here never changes, a later file changes it.

-- What the store is: its identity, its life since the last restore, its secret for cursors.
CREATE TABLE meta (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  store_id        INTEGER NOT NULL,
  incarnation     INTEGER NOT NULL,
  cursor_secret   BLOB    NOT NULL,
  active_revision INTEGER,
  created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE tenants (
  id               INTEGER PRIMARY KEY,
  name             TEXT    NOT NULL UNIQUE,
  max_pending_jobs INTEGER,                -- jobs that have not ended; no limit where null
  max_in_flight    INTEGER,                -- calls at the same time over all pools
  weight           INTEGER NOT NULL DEFAULT 1,
  budget_micros    INTEGER,                -- no limit where null
  budget_period    TEXT    NOT NULL DEFAULT 'total' CHECK (budget_period IN ('day', 'month', 'total')),
  created_at       INTEGER NOT NULL
) STRICT;

-- Counters that are caches: each can be recomputed from rows. Tenant 0 is all tenants together.
CREATE TABLE tenant_load (
  tenant       INTEGER PRIMARY KEY,
  pending_jobs INTEGER NOT NULL DEFAULT 0 CHECK (pending_jobs >= 0),
  in_flight    INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0)
) STRICT;
INSERT INTO tenant_load (tenant) VALUES (0);

-- API keys: only the digest of the secret is here.
CREATE TABLE keys (
  id         BLOB    PRIMARY KEY,
  tenant     INTEGER NOT NULL REFERENCES tenants (id),
  name       TEXT    NOT NULL,
  digest     BLOB    NOT NULL UNIQUE,
  hint       TEXT    NOT NULL,             -- the first characters, to recognise it by
  scopes     TEXT    NOT NULL,             -- names with a space between
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_of_tenant ON keys (tenant, created_at);

-- Definitions, immutable, as they were written.
CREATE TABLE revisions (
  number     INTEGER PRIMARY KEY,
  source     TEXT    NOT NULL,
  digest     BLOB    NOT NULL,
  comment    TEXT,
  created_by BLOB,                         -- a key, or null for the program itself
  created_at INTEGER NOT NULL
) STRICT;

-- The narrow, hot row of a job: what claims and transitions read and write.
CREATE TABLE jobs (
  id              BLOB    PRIMARY KEY,
  seq             INTEGER NOT NULL,        -- the number of its accepted event: accept order
  tenant          INTEGER NOT NULL,
  task            TEXT    NOT NULL,
  kind            TEXT    NOT NULL,
  revision        INTEGER NOT NULL,
  state           TEXT    NOT NULL CHECK (state IN ('READY', 'RUNNING', 'WAITING', 'RETRY_SCHEDULED',
                            'REVIEW_REQUIRED', 'SUCCEEDED', 'FAILED_TERMINAL', 'CANCELLED')),
  state_version   INTEGER NOT NULL,
  fence           INTEGER NOT NULL,
  generation      INTEGER NOT NULL,
  step            INTEGER NOT NULL,
  attempts        INTEGER NOT NULL CHECK (attempts >= 0),
  deferrals       INTEGER NOT NULL CHECK (deferrals >= 0),
  step_since      INTEGER NOT NULL,
  available_at    INTEGER NOT NULL,
  lease_until     INTEGER,
  deadline        INTEGER NOT NULL,
  open_children   INTEGER NOT NULL DEFAULT 0 CHECK (open_children >= 0),
  failure_class   TEXT,
  failure_message TEXT,
  priority        TEXT    NOT NULL,
  pool            TEXT    NOT NULL,        -- of the current step
  place           INTEGER NOT NULL,        -- in the lane; smaller is sooner
  claimable       INTEGER NOT NULL,        -- due, and first of its ordering key
  key_first       INTEGER NOT NULL,        -- no earlier job of its ordering key is unfinished
  ordering_key    TEXT,
  input_tokens    INTEGER NOT NULL DEFAULT 0,
  output_tokens   INTEGER NOT NULL DEFAULT 0,
  cost_micros     INTEGER NOT NULL DEFAULT 0,
  uncertain_micros INTEGER NOT NULL DEFAULT 0,
  updated_at      INTEGER NOT NULL,
  finished_at     INTEGER,
  CHECK ((state = 'RUNNING') = (lease_until IS NOT NULL)),
  CHECK ((state IN ('SUCCEEDED', 'FAILED_TERMINAL', 'CANCELLED')) = (finished_at IS NOT NULL)),
  CHECK (claimable = 0 OR state IN ('READY', 'RETRY_SCHEDULED'))
) STRICT, WITHOUT ROWID;
-- The head of each lane.
CREATE INDEX jobs_claimable ON jobs (pool, tenant, place, seq) WHERE claimable = 1;
-- Queued jobs that become due by time.
CREATE INDEX jobs_scheduled ON jobs (available_at)
  WHERE claimable = 0 AND key_first = 1 AND state IN ('READY', 'RETRY_SCHEDULED');
CREATE INDEX jobs_leases ON jobs (lease_until) WHERE state = 'RUNNING';
CREATE INDEX jobs_deadlines ON jobs (deadline)
  WHERE state IN ('READY', 'RUNNING', 'WAITING', 'RETRY_SCHEDULED');
CREATE INDEX jobs_of_tenant ON jobs (tenant, seq);
CREATE INDEX jobs_of_key ON jobs (tenant, task, ordering_key, seq)
  WHERE ordering_key IS NOT NULL AND finished_at IS NULL;

-- What was asked for, once and for all; read when a call is made, an event is written or a person looks.
CREATE TABLE inputs (
  job_id          BLOB    PRIMARY KEY,
  body            BLOB,                    -- the stored request, or null when it is in a blob
  blob            BLOB,                    -- its digest in the blob store
  request_digest  BLOB    NOT NULL,
  document        BLOB,                    -- digest
  idempotency_key TEXT,
  correlation_id  TEXT,
  metadata        TEXT,                    -- JSON object of strings
  series_key      TEXT,
  series_version  INTEGER,
  not_before      INTEGER,
  key_id          BLOB,
  parent          BLOB,
  replay_of       BLOB,
  batch           BLOB,
  created_at      INTEGER NOT NULL,
  CHECK ((body IS NULL) <> (blob IS NULL))
) STRICT, WITHOUT ROWID;

-- Which job a tenant's idempotency key stands for. Outlives the job.
CREATE TABLE idempotency_keys (
  tenant      INTEGER NOT NULL,
  key         TEXT    NOT NULL,
  job_id      BLOB    NOT NULL,
  body_digest BLOB    NOT NULL,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

-- The journal: one row a step, with what it left behind.
CREATE TABLE steps (
  job_id        BLOB    NOT NULL,
  generation    INTEGER NOT NULL,
  number        INTEGER NOT NULL,
  kind          TEXT    NOT NULL,
  pool          TEXT    NOT NULL,
  model         TEXT    NOT NULL,
  target        INTEGER NOT NULL DEFAULT 0, -- index into the task's model policy
  input_tokens  INTEGER NOT NULL,          -- estimate
  output_tokens INTEGER NOT NULL,          -- limit
  planned_at    INTEGER NOT NULL,
  finished_at   INTEGER,
  entry         BLOB,                      -- the journal entry, or null when it is in a blob or not there yet
  entry_blob    BLOB,
  PRIMARY KEY (job_id, generation, number)
) STRICT, WITHOUT ROWID;

-- One row a claim, written before anything outside is called.
CREATE TABLE attempts (
  id                  BLOB    PRIMARY KEY,
  job_id              BLOB    NOT NULL,
  tenant              INTEGER NOT NULL,
  generation          INTEGER NOT NULL,
  step                INTEGER NOT NULL,
  number              INTEGER NOT NULL,    -- within its step, releases and deferrals included
  fence               INTEGER NOT NULL,
  claim_id            BLOB    NOT NULL,
  worker              TEXT    NOT NULL,
  build               TEXT    NOT NULL,
  task                TEXT    NOT NULL,
  pool                TEXT    NOT NULL,
  model               TEXT    NOT NULL,
  claimed_at          INTEGER NOT NULL,
  ended_at            INTEGER,
  settled_at          INTEGER,             -- once: outcome, usage, grant and money together
  outcome             TEXT CHECK (outcome IN ('succeeded', 'failed_before_send', 'failed_after_send', 'unknown')),
  failure_class       TEXT,
  message             TEXT,
  provider_request_id TEXT,
  provider_model      TEXT,
  reserved_input      INTEGER NOT NULL,
  reserved_output     INTEGER NOT NULL,
  reserved_micros     INTEGER NOT NULL,
  price_input         INTEGER NOT NULL,    -- prices in force when it started
  price_cached        INTEGER,
  price_output        INTEGER NOT NULL,
  budget_start        INTEGER NOT NULL,    -- the budget period that it is booked in
  input_tokens        INTEGER,
  cached_tokens       INTEGER,
  output_tokens       INTEGER,
  reasoning_tokens    INTEGER,
  cost_micros         INTEGER,
  uncertain_micros    INTEGER,
  overage_micros      INTEGER,
  evidence            TEXT,                -- what came after it was closed, as JSON
  CHECK ((outcome IS NULL) = (settled_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_of_job ON attempts (job_id, claimed_at);

-- Permits for calls under way: a row as long as the call may still be running.
CREATE TABLE grants (
  attempt_id BLOB    PRIMARY KEY,
  job_id     BLOB    NOT NULL,
  tenant     INTEGER NOT NULL,
  pool       TEXT    NOT NULL,
  lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pools (
  name           TEXT    PRIMARY KEY,
  in_flight      INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  cooldown_until INTEGER NOT NULL DEFAULT 0,
  cooldown_class TEXT,
  turn           INTEGER NOT NULL DEFAULT 0 -- the tenant that was served last
) STRICT, WITHOUT ROWID;

-- What was charged to a pool within one quarter of a second.
CREATE TABLE pool_buckets (
  pool     TEXT    NOT NULL,
  start    INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  tokens   INTEGER NOT NULL,
  PRIMARY KEY (pool, start)
) STRICT, WITHOUT ROWID;

-- Accounts of money: one row a tenant and period.
CREATE TABLE budgets (
  tenant           INTEGER NOT NULL,
  period_start     INTEGER NOT NULL,
  reserved_micros  INTEGER NOT NULL DEFAULT 0,
  spent_micros     INTEGER NOT NULL DEFAULT 0,
  uncertain_micros INTEGER NOT NULL DEFAULT 0,
  overage_micros   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, period_start)
) STRICT, WITHOUT ROWID;

-- What was used, by day. A cache over attempts.
CREATE TABLE usage_days (
  tenant           INTEGER NOT NULL,
  day              INTEGER NOT NULL,       -- its first millisecond, UTC
  task             TEXT    NOT NULL,
  model            TEXT    NOT NULL,
  pool             TEXT    NOT NULL,
  attempts         INTEGER NOT NULL,
  input_tokens     INTEGER NOT NULL,
  output_tokens    INTEGER NOT NULL,
  cost_micros      INTEGER NOT NULL,
  uncertain_micros INTEGER NOT NULL,
  PRIMARY KEY (tenant, day, task, model, pool)
) STRICT, WITHOUT ROWID;

CREATE TABLE results (
  job_id      BLOB    NOT NULL,
  generation  INTEGER NOT NULL,
  output      BLOB,                        -- JSON, or null when it is in a blob
  output_blob BLOB,
  provenance  BLOB    NOT NULL,            -- JSON
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (job_id, generation),
  CHECK ((output IS NULL) <> (output_blob IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE reviews (
  job_id     BLOB    NOT NULL,
  generation INTEGER NOT NULL,
  tenant     INTEGER NOT NULL,
  opened_at  INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,
  findings   BLOB    NOT NULL,             -- JSON
  output     BLOB,                         -- JSON; null when there is nothing to approve
  provenance BLOB    NOT NULL,             -- JSON
  decided_at INTEGER,
  decision   TEXT CHECK (decision IN ('approve', 'correct', 'reject', 'rerun', 'cancelled')),
  decided_by BLOB,
  comment    TEXT,
  PRIMARY KEY (job_id, generation)
) STRICT, WITHOUT ROWID;
CREATE INDEX reviews_open ON reviews (tenant, opened_at) WHERE decided_at IS NULL;

CREATE TABLE documents (
  tenant     INTEGER NOT NULL,
  digest     BLOB    NOT NULL,
  bytes      INTEGER NOT NULL,
  media_type TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;

-- The log. One writer: insertion order is commit order.
CREATE TABLE events (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant        INTEGER NOT NULL,
  job_id        BLOB    NOT NULL,
  type          TEXT    NOT NULL,
  state_version INTEGER NOT NULL,
  at            INTEGER NOT NULL,
  body          BLOB    NOT NULL            -- the CloudEvent, published as it is
) STRICT;
CREATE INDEX events_of_job ON events (job_id, seq);
CREATE INDEX events_of_tenant ON events (tenant, seq);

-- A job with what was asked for. The order of the columns is the order in which rows are read.
CREATE VIEW job_records AS
SELECT j.id, j.seq, j.tenant, j.task, j.kind, j.revision,
       j.state, j.state_version, j.fence, j.generation, j.step, j.attempts, j.deferrals, j.step_since,
       j.available_at, j.lease_until, j.deadline, j.open_children, j.failure_class, j.failure_message,
       j.priority, j.pool, j.ordering_key, j.key_first,
       j.input_tokens, j.output_tokens, j.cost_micros, j.uncertain_micros,
       i.created_at, j.updated_at, j.finished_at,
       i.metadata, i.correlation_id, i.replay_of, i.request_digest, i.document
FROM jobs j JOIN inputs i ON i.job_id = j.id;
