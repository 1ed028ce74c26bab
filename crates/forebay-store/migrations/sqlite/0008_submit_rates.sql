-- expand
-- How fast jobs are handed in. A row is a bucket: without one it is full, and whatever is full needs none.
CREATE TABLE submit_rates (
  counted TEXT    NOT NULL CHECK (counted IN ('tenant', 'key', 'user')),
  who     TEXT    NOT NULL,
  full_at INTEGER NOT NULL,                -- microseconds UTC
  PRIMARY KEY (counted, who)
) STRICT, WITHOUT ROWID;
