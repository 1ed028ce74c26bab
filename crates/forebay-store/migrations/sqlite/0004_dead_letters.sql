-- expand
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
-- They are listed and counted by their indexes alone, whatever is asked for: with a hundred thousand of them a look at each
-- row would take longer than anybody waits.
CREATE INDEX dead_letters_by_state ON dead_letters
  (tenant, state, seq, task, class, revision, failed_at, created_at, owner);
CREATE INDEX dead_letters_by_group ON dead_letters
  (tenant, state, task, class, seq, revision, failed_at, created_at, owner);
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
