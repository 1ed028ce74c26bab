-- expand
-- Master data of tenants. Every version stays: results name the one that they were judged by.
CREATE TABLE datasets (
  tenant     INTEGER NOT NULL REFERENCES tenants (id),
  name       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  digest     BLOB    NOT NULL,             -- of the content, which is in the blob store
  columns    TEXT    NOT NULL,             -- JSON array of their names
  rows       INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by BLOB,                         -- a key, or null for the program itself
  PRIMARY KEY (tenant, name, version)
) STRICT, WITHOUT ROWID;

-- What a tenant's successful jobs were about, by task: the first that said it, so that a second is noticed.
CREATE TABLE fingerprints (
  tenant      INTEGER NOT NULL,
  task        TEXT    NOT NULL,
  fingerprint BLOB    NOT NULL,
  job_id      BLOB    NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, task, fingerprint)
) STRICT, WITHOUT ROWID;
