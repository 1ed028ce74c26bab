-- expand
-- Master data of tenants. Every version stays: results name the one that they were judged by.
CREATE TABLE datasets (
  tenant     BIGINT  NOT NULL REFERENCES tenants (id),
  name       TEXT    COLLATE "C" NOT NULL,
  version    INTEGER NOT NULL,
  digest     BYTEA   NOT NULL,             -- of the content, which is in the blob store
  columns    TEXT    NOT NULL,             -- JSON array of their names
  rows       BIGINT  NOT NULL,
  bytes      BIGINT  NOT NULL,
  created_at BIGINT  NOT NULL,
  created_by UUID,                         -- a key, or null for the program itself
  PRIMARY KEY (tenant, name, version)
);

-- What a tenant's successful jobs were about, by task: the first that said it, so that a second is noticed.
CREATE TABLE fingerprints (
  tenant      BIGINT NOT NULL,
  created_at  BIGINT NOT NULL,
  job_id      UUID   NOT NULL,
  task        TEXT   COLLATE "C" NOT NULL,
  fingerprint BYTEA  NOT NULL,
  PRIMARY KEY (tenant, task, fingerprint)
);
