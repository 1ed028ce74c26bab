-- expand
-- What was deleted because its time was over, as far as something else has to go on adding up.

-- Up to where events of a tenant were deleted: a reader who stands before that has missed something.
CREATE TABLE log_deleted (
  tenant BIGINT PRIMARY KEY,
  epoch  BIGINT NOT NULL,
  seq    BIGINT NOT NULL
) WITH (
  -- Few rows, written by each batch that is deleted.
  fillfactor = 40,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);

-- What the attempts that were deleted had cost, by tenant and period as in budgets: an account is this and what the
-- attempts say.
CREATE TABLE deleted_money (
  tenant           BIGINT NOT NULL,
  period_start     BIGINT NOT NULL,
  spent_micros     BIGINT NOT NULL,
  uncertain_micros BIGINT NOT NULL,
  overage_micros   BIGINT NOT NULL,
  PRIMARY KEY (tenant, period_start)
) WITH (
  -- Few rows, written by each batch that is deleted.
  fillfactor = 40,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);

-- The same by day, as in usage_days.
CREATE TABLE deleted_usage (
  tenant           BIGINT NOT NULL,
  day              BIGINT NOT NULL,
  attempts         BIGINT NOT NULL,
  input_tokens     BIGINT NOT NULL,
  output_tokens    BIGINT NOT NULL,
  cost_micros      BIGINT NOT NULL,
  uncertain_micros BIGINT NOT NULL,
  task             TEXT COLLATE "C" NOT NULL,
  model            TEXT COLLATE "C" NOT NULL,
  pool             TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, day, task, model, pool)
) WITH (
  -- Few rows, written by each batch that is deleted.
  fillfactor = 40,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);

-- How much was deleted since the store was made.
CREATE TABLE retention (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  jobs           BIGINT NOT NULL,
  attempts       BIGINT NOT NULL,
  events         BIGINT NOT NULL,
  batches        BIGINT NOT NULL,
  documents      BIGINT NOT NULL,
  keys           BIGINT NOT NULL,             -- idempotency keys
  accepted_until BIGINT NOT NULL              -- when the youngest of the jobs was accepted
) WITH (
  -- Few rows, written by each batch that is deleted.
  fillfactor = 40,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);
INSERT INTO retention VALUES (1, 0, 0, 0, 0, 0, 0, 0);

CREATE INDEX IF NOT EXISTS datasets_blob ON datasets (digest);
CREATE INDEX IF NOT EXISTS reviews_blob ON reviews (output_blob) WHERE output_blob IS NOT NULL;

-- How long calls of a task took lately: by a sample of them, so that most attempts are not in the index.
CREATE INDEX IF NOT EXISTS attempts_sampled ON attempts (tenant, task, job) WHERE job % 16 = 0;
