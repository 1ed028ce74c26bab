-- Dead letters: jobs that failed, until somebody has dealt with them. What a row repeats of its job never changes
-- any more, since the job has ended; it stands here so that failures are found and counted without a look at all
-- jobs.
CREATE TABLE dead_letters (
  job_id     BLOB    PRIMARY KEY,
  tenant     INTEGER NOT NULL,
  seq        INTEGER NOT NULL,             -- the number of the event that it failed: the order of failing
  task       TEXT    NOT NULL,
  revision   INTEGER NOT NULL,
  class      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,             -- when the job was accepted
  failed_at  INTEGER NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('open', 'replayed', 'resolved', 'dismissed')),
  owner      TEXT,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letters_by_state ON dead_letters (tenant, state, seq);
-- What is open over all tenants: for the metrics.
CREATE INDEX dead_letters_open ON dead_letters (failed_at) WHERE state = 'open';

-- What persons wrote about a dead letter. Rows are only ever added.
CREATE TABLE dead_letter_notes (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id      BLOB    NOT NULL,
  at          INTEGER NOT NULL,
  author_key  BLOB,
  author_name TEXT    NOT NULL,            -- as the key was called then
  text        TEXT    NOT NULL
) STRICT;
CREATE INDEX dead_letter_notes_of_job ON dead_letter_notes (job_id, seq);
CREATE TRIGGER dead_letter_notes_are_never_changed BEFORE UPDATE ON dead_letter_notes
BEGIN SELECT RAISE(ABORT, 'notes are never changed'); END;

-- Which jobs do the work of a failed one again.
CREATE INDEX inputs_replay_of ON inputs (replay_of) WHERE replay_of IS NOT NULL;

INSERT INTO dead_letters (job_id, tenant, seq, task, revision, class, created_at, failed_at, state, updated_at)
SELECT j.id, j.tenant, (SELECT max(e.seq) FROM events e WHERE e.job_id = j.id), j.task, j.revision,
       j.failure_class, i.created_at, j.finished_at, 'open', j.finished_at
FROM jobs j JOIN inputs i ON i.job_id = j.id
WHERE j.state = 'FAILED_TERMINAL';

-- A job with what was asked for. The order of the columns is the order in which rows are read.
DROP VIEW job_records;
CREATE VIEW job_records AS
SELECT j.id, j.seq, j.tenant, j.task, j.kind, j.revision,
       j.state, j.state_version, j.fence, j.generation, j.step, j.attempts, j.deferrals, j.step_since,
       j.available_at, j.lease_until, j.deadline, j.open_children, j.failure_class, j.failure_message,
       j.priority, j.pool, j.ordering_key, j.key_first,
       j.input_tokens, j.output_tokens, j.cost_micros, j.uncertain_micros,
       i.created_at, j.updated_at, j.finished_at,
       i.metadata, i.correlation_id, i.replay_of, i.request_digest, i.document, i.batch,
       -- The latest job that does its work again. Looked for where there can be one.
       CASE WHEN j.state = 'FAILED_TERMINAL' THEN (
         SELECT r.job_id FROM inputs r WHERE r.replay_of = j.id ORDER BY r.created_at DESC, r.job_id DESC LIMIT 1
       ) END AS replayed_by
FROM jobs j JOIN inputs i ON i.job_id = j.id;
