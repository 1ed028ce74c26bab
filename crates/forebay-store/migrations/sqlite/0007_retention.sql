-- expand
-- What was deleted because its time was over, as far as something else has to go on adding up.

-- Up to where events of a tenant were deleted: a reader who stands before that has missed something.
CREATE TABLE log_deleted (
  tenant INTEGER PRIMARY KEY,
  seq    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the attempts that were deleted had cost, by tenant and period as in budgets: an account is this and what the
-- attempts say.
CREATE TABLE deleted_money (
  tenant           INTEGER NOT NULL,
  period_start     INTEGER NOT NULL,
  spent_micros     INTEGER NOT NULL,
  uncertain_micros INTEGER NOT NULL,
  overage_micros   INTEGER NOT NULL,
  PRIMARY KEY (tenant, period_start)
) STRICT, WITHOUT ROWID;

-- The same by day, as in usage_days.
CREATE TABLE deleted_usage (
  tenant           INTEGER NOT NULL,
  day              INTEGER NOT NULL,
  attempts         INTEGER NOT NULL,
  input_tokens     INTEGER NOT NULL,
  output_tokens    INTEGER NOT NULL,
  cost_micros      INTEGER NOT NULL,
  uncertain_micros INTEGER NOT NULL,
  task             TEXT NOT NULL,
  model            TEXT NOT NULL,
  pool             TEXT NOT NULL,
  PRIMARY KEY (tenant, day, task, model, pool)
) STRICT, WITHOUT ROWID;

-- How much was deleted since the store was made.
CREATE TABLE retention (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  jobs           INTEGER NOT NULL,
  attempts       INTEGER NOT NULL,
  events         INTEGER NOT NULL,
  batches        INTEGER NOT NULL,
  documents      INTEGER NOT NULL,
  keys           INTEGER NOT NULL,             -- idempotency keys
  accepted_until INTEGER NOT NULL              -- when the youngest of the jobs was accepted
) STRICT;
INSERT INTO retention VALUES (1, 0, 0, 0, 0, 0, 0, 0);

CREATE INDEX IF NOT EXISTS datasets_blob ON datasets (digest);
CREATE INDEX IF NOT EXISTS reviews_blob ON reviews (output_blob) WHERE output_blob IS NOT NULL;

-- How long calls of a task took lately: by a sample of them, so that most attempts are not in the index.
CREATE INDEX IF NOT EXISTS attempts_sampled ON attempts (tenant, task, job) WHERE job % 16 = 0;
