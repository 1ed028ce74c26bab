-- expand
-- Who changed what, and when: a row for each change that somebody asked for. Rows are only ever added.
CREATE TABLE audit (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  tenant     INTEGER,                       -- whose affair it is; null where it is the whole installation's
  actor_key  BLOB,                          -- null for the program itself
  actor_name TEXT    NOT NULL,              -- as the key was called then
  action     TEXT    NOT NULL,
  subject    TEXT    NOT NULL,              -- what was changed: an id, a name, a number
  before     TEXT,                          -- JSON; null where there was nothing
  after      TEXT                           -- JSON; null where nothing is left
) STRICT;
CREATE INDEX audit_of_tenant ON audit (tenant, seq);
CREATE INDEX audit_of_subject ON audit (subject, seq);
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit rows are never deleted'); END;
