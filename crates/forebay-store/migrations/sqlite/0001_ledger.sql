-- expand
-- The ledger. Times are milliseconds UTC, money is in micro-units, ids are the 16 bytes of a UUID.
-- Migrations are append-only from the first release on: what stands here then never changes, a later file changes it.

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
  weight           INTEGER NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000), -- its share of each pool
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
  revoked_at INTEGER,
  lane       INTEGER NOT NULL UNIQUE,      -- the number of its jobs' lane: made from the id
  max_in_flight INTEGER                    -- calls at the same time over all pools
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

-- The narrow, hot row of a job: what claims and transitions read and write. `seq` is the key that other tables know
-- it by in a column `job`: small, and in accept order, so that rows are appended and indexes stay narrow. The outside
-- knows `id` alone. Rows of one job are written together; each statement names no more columns than it changes, since
-- an index is rewritten whenever a column that it names is.
CREATE TABLE jobs (
  seq             INTEGER PRIMARY KEY,     -- the number of its accepted event: accept order
  id              BLOB    NOT NULL,
  tenant          INTEGER NOT NULL,
  lane            INTEGER NOT NULL,        -- of the key that handed it in; 0 where none did
  task            TEXT    NOT NULL,
  kind            TEXT    NOT NULL,
  revision        INTEGER NOT NULL,
  state           TEXT    NOT NULL,
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
  expires_at      INTEGER,                 -- the deadline as long as it can end the job
  open_children   INTEGER NOT NULL DEFAULT 0 CHECK (open_children >= 0),
  failure_class   TEXT,
  failure_message TEXT,
  priority        TEXT    NOT NULL,
  place           INTEGER NOT NULL,        -- in the lane; smaller is sooner
  claimable       INTEGER NOT NULL,        -- due, and first of its ordering key
  key_first       INTEGER NOT NULL,        -- no other job of its ordering key goes first
  keeps_key       INTEGER NOT NULL,        -- if it fails, none of its ordering key goes on
  ordering_key    TEXT,
  -- The plan of the current step; it gets its row in the journal when it is left.
  step_kind       TEXT    NOT NULL,
  pool            TEXT    NOT NULL,
  model           TEXT    NOT NULL,
  target          INTEGER NOT NULL DEFAULT 0, -- index into the task's model policy
  step_input      INTEGER NOT NULL,        -- tokens, estimate
  step_output     INTEGER NOT NULL,        -- tokens, limit
  planned_at      INTEGER NOT NULL,
  input_tokens    INTEGER NOT NULL DEFAULT 0,
  output_tokens   INTEGER NOT NULL DEFAULT 0,
  cost_micros     INTEGER NOT NULL DEFAULT 0,
  uncertain_micros INTEGER NOT NULL DEFAULT 0,
  updated_at      INTEGER NOT NULL,
  finished_at     INTEGER,
  batch           BLOB,                    -- that it came with, or was taken into later
  -- Chains of OR: for IN with a list, SQLite makes a table of the list each time that a row is written.
  CHECK ((state = 'READY' OR state = 'RUNNING' OR state = 'WAITING' OR state = 'RETRY_SCHEDULED'
          OR state = 'REVIEW_REQUIRED') = (finished_at IS NULL)),
  CHECK ((state = 'SUCCEEDED' OR state = 'FAILED_TERMINAL' OR state = 'CANCELLED') = (finished_at IS NOT NULL)),
  CHECK ((expires_at IS NULL) = (finished_at IS NOT NULL OR state = 'REVIEW_REQUIRED')),
  CHECK ((lease_until IS NOT NULL) = (state = 'RUNNING')),
  CHECK (claimable = 0 OR state = 'READY' OR state = 'RETRY_SCHEDULED')
) STRICT;
-- Each entry of an index ends with the number of its row, in which it is ordered last: here, the order of accepting.
-- The heads of the lanes: of each key of each tenant, by task.
CREATE INDEX jobs_claimable ON jobs (pool, tenant, lane, task, place) WHERE claimable = 1;
-- Queued jobs that become due by time.
CREATE INDEX jobs_scheduled ON jobs (available_at)
  WHERE claimable = 0 AND key_first = 1 AND state IN ('READY', 'RETRY_SCHEDULED');
CREATE INDEX jobs_leases ON jobs (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX jobs_deadlines ON jobs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX jobs_of_key ON jobs (tenant, task, ordering_key)
  WHERE ordering_key IS NOT NULL AND finished_at IS NULL;
-- At most one unfinished job of a key is its first.
CREATE UNIQUE INDEX jobs_first_of_key ON jobs (tenant, task, ordering_key)
  WHERE key_first = 1 AND ordering_key IS NOT NULL AND finished_at IS NULL;

-- Jobs that failed and keep their ordering key: nothing of it runs but what does their work again, until that has
-- succeeded or somebody has dealt with the dead letter.
CREATE TABLE kept_keys (
  first_job    BLOB    PRIMARY KEY,        -- the one that failed
  latest_job   BLOB    NOT NULL,           -- it, or what did its work again and failed, too: this is to be dealt with
  tenant       INTEGER NOT NULL,
  task         TEXT    NOT NULL,
  ordering_key TEXT    NOT NULL,
  kept_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_keys_by_key ON kept_keys (tenant, task, ordering_key, kept_at);
CREATE INDEX kept_keys_by_latest ON kept_keys (latest_job);

-- What was asked for, once and for all; read when a call is made, an event is written or a person looks.
CREATE TABLE inputs (
  job             INTEGER PRIMARY KEY,
  id              BLOB    NOT NULL UNIQUE, -- the job's: found here, so that no index is in the way of what changes
  tenant          INTEGER NOT NULL,
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
  created_at      INTEGER NOT NULL,
  CHECK ((body IS NULL) <> (blob IS NULL))
) STRICT;
CREATE INDEX inputs_of_tenant ON inputs (tenant);
-- Which jobs do the work of a failed one again.
CREATE INDEX inputs_replay_of ON inputs (replay_of) WHERE replay_of IS NOT NULL;
-- Whether a document is used, and a blob.
CREATE INDEX inputs_document ON inputs (document) WHERE document IS NOT NULL;
CREATE INDEX inputs_blob ON inputs (blob) WHERE blob IS NOT NULL;

-- Which job a tenant's idempotency key stands for. Outlives the job.
CREATE TABLE idempotency_keys (
  tenant      INTEGER NOT NULL,
  key         TEXT    NOT NULL,
  job_id      BLOB    NOT NULL,
  body_digest BLOB    NOT NULL,
  expires_at  INTEGER NOT NULL,
  ended       TEXT,                        -- the state in which its job ended, where that was deleted since
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
-- Those whose job is gone. The others go with their job.
CREATE INDEX idempotency_keys_alone ON idempotency_keys (expires_at) WHERE ended IS NOT NULL;

-- The journal: a row for each step that was left, with what it left behind. The current step is in the job's row.
CREATE TABLE steps (
  job           INTEGER NOT NULL,
  generation    INTEGER NOT NULL,
  number        INTEGER NOT NULL,
  kind          TEXT    NOT NULL,
  pool          TEXT    NOT NULL,
  model         TEXT    NOT NULL,
  target        INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,          -- estimate
  output_tokens INTEGER NOT NULL,          -- limit
  planned_at    INTEGER NOT NULL,
  finished_at   INTEGER,                   -- null where a new generation has left it as it was
  entry         BLOB,                      -- the journal entry, or null when it is in a blob or there is none
  entry_blob    BLOB
) STRICT;
CREATE UNIQUE INDEX steps_of_job ON steps (job, generation, number);
CREATE INDEX steps_blob ON steps (entry_blob) WHERE entry_blob IS NOT NULL;

-- One row a claim, written before anything outside is called. A claim raises the fence, so that a job's fence names
-- its attempt.
CREATE TABLE attempts (
  id                  BLOB    NOT NULL,
  job                 INTEGER NOT NULL,
  fence               INTEGER NOT NULL,
  tenant              INTEGER NOT NULL,
  lane                INTEGER NOT NULL,    -- the job's
  generation          INTEGER NOT NULL,
  step                INTEGER NOT NULL,
  claim_id            BLOB    NOT NULL,
  worker              TEXT    NOT NULL,
  build               TEXT    NOT NULL,
  task                TEXT    NOT NULL,
  pool                TEXT    NOT NULL,
  model               TEXT    NOT NULL,
  claimed_at          INTEGER NOT NULL,
  -- The grant's permit for a call under way: its lease, for as long as the call may still be running.
  permit_until        INTEGER,
  ended_at            INTEGER,
  settled_at          INTEGER,             -- once: outcome, usage, grant and money together
  outcome             TEXT CHECK (outcome = 'succeeded' OR outcome = 'failed_before_send'
                                  OR outcome = 'failed_after_send' OR outcome = 'unknown'),
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
  CHECK ((outcome IS NULL) = (settled_at IS NULL)),
  CHECK (permit_until IS NOT NULL OR settled_at IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX attempts_of_job ON attempts (job, fence);
CREATE INDEX attempts_permits ON attempts (permit_until) WHERE permit_until IS NOT NULL;

-- Where the lanes of a pool are in taking turns, and until when it rests.
CREATE TABLE pools (
  name           TEXT    PRIMARY KEY,
  cooldown_until INTEGER NOT NULL DEFAULT 0,
  cooldown_class TEXT,
  turn           INTEGER NOT NULL DEFAULT 0, -- the tenant whose turn it is or was
  turn_is_on     INTEGER NOT NULL DEFAULT 0, -- whether that turn is under way
  quantum        INTEGER NOT NULL DEFAULT 0, -- cost that a weight of 1 is given in this round
  largest        INTEGER NOT NULL DEFAULT 0  -- the largest cost that was taken in it
) STRICT, WITHOUT ROWID;

-- What a tenant may still take in a pool, which of its keys was served last, and what it was handed. No row is as good
-- as zeros.
CREATE TABLE lanes (
  pool   TEXT    NOT NULL,
  tenant INTEGER NOT NULL,
  credit INTEGER NOT NULL,
  turn   INTEGER NOT NULL,
  served INTEGER NOT NULL,                 -- cost of all that it was handed
  yielded_at INTEGER NOT NULL,             -- when it last had nothing that it could take
  PRIMARY KEY (pool, tenant)
) STRICT, WITHOUT ROWID;

-- Calls in flight of a pool, of a key (by the number of its lane) and of a task, and the tokens that those of a pool may
-- need. Caches: attempts have them, too.
CREATE TABLE calls (
  kind      TEXT    NOT NULL CHECK (kind = 'pool' OR kind = 'tokens' OR kind = 'key' OR kind = 'task'),
  name      TEXT    NOT NULL,
  in_flight INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- What was charged to a pool within a quarter of a second, for its limits per minute, or of an hour, for those per day.
CREATE TABLE pool_buckets (
  pool          TEXT    NOT NULL,
  width         INTEGER NOT NULL,
  start         INTEGER NOT NULL,
  settled       INTEGER NOT NULL,          -- what ended calls have given back stands apart
  requests      INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  PRIMARY KEY (pool, width, start, settled)
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
  job         INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  output      BLOB,                        -- JSON, or null when it is in a blob
  output_blob BLOB,
  provenance  BLOB    NOT NULL,            -- JSON
  created_at  INTEGER NOT NULL,
  CHECK ((output IS NULL) <> (output_blob IS NULL))
) STRICT;
CREATE UNIQUE INDEX results_of_job ON results (job, generation);
CREATE INDEX results_blob ON results (output_blob) WHERE output_blob IS NOT NULL;

CREATE TABLE documents (
  tenant     INTEGER NOT NULL,
  digest     BLOB    NOT NULL,
  bytes      INTEGER NOT NULL,
  media_type TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,             -- when somebody uploaded it last, or it was seen that a job refers to it
  PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX documents_used ON documents (used_at);
CREATE INDEX documents_blob ON documents (digest);

-- The log. One writer: insertion order is commit order. Its last row stays, so that a number is used once only.
CREATE TABLE events (
  seq           INTEGER PRIMARY KEY,
  tenant        INTEGER NOT NULL,
  job           INTEGER,                   -- null where the event is a batch's
  type          TEXT    NOT NULL,
  state_version INTEGER NOT NULL,
  at            INTEGER NOT NULL,
  body          BLOB    NOT NULL           -- the CloudEvent, published as it is
) STRICT;
CREATE INDEX events_of_job ON events (job) WHERE job IS NOT NULL;
CREATE INDEX events_of_tenant ON events (tenant);
-- Those of batches, which name them in their body only.
CREATE INDEX events_of_batches ON events (tenant, at) WHERE job IS NULL;

-- The processes that work on this store, as each says of itself now and then.
CREATE TABLE processes (
  id         BLOB    PRIMARY KEY,
  name       TEXT    NOT NULL,
  build      TEXT    NOT NULL,
  roles      TEXT    NOT NULL,             -- names with a space between
  slots      INTEGER NOT NULL,             -- jobs that it may have in hand
  pools      TEXT,                         -- what it is restricted to, as a JSON array; all where null
  tasks      TEXT,                         -- likewise
  in_hand    INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  heard_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What only one process does at a time, and which. The fence rises with each change of hands.
CREATE TABLE leader_leases (
  name        TEXT    PRIMARY KEY,
  holder      BLOB    NOT NULL,
  fence       INTEGER NOT NULL,
  lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A job with what was asked for. The order of the columns is the order in which rows are read; the plan of the
-- current step, which few read, comes last.
CREATE VIEW job_records AS
SELECT i.id, i.job AS seq, i.tenant, j.task, j.kind, j.revision,
       j.state, j.state_version, j.fence, j.generation, j.step, j.attempts, j.deferrals, j.step_since,
       j.available_at, j.lease_until, j.deadline, j.open_children, j.failure_class, j.failure_message,
       j.priority, j.pool, j.ordering_key, j.key_first, j.keeps_key,
       j.input_tokens, j.output_tokens, j.cost_micros, j.uncertain_micros,
       i.created_at, j.updated_at, j.finished_at,
       i.metadata, i.correlation_id, i.replay_of, i.request_digest, i.document, j.batch,
       -- The latest job that does its work again, in accept order. Looked for where there can be one.
       CASE WHEN j.state = 'FAILED_TERMINAL' THEN (
         SELECT ri.id FROM inputs ri WHERE ri.replay_of = i.id ORDER BY ri.job DESC LIMIT 1
       ) END AS replayed_by,
       j.model, j.step_input, j.step_output
FROM inputs i JOIN jobs j ON j.seq = i.job;
