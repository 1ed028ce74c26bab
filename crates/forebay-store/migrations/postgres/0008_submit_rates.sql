-- expand
-- How fast jobs are handed in. A row is a bucket: without one it is full, and whatever is full needs none.
CREATE TABLE submit_rates (
  full_at BIGINT NOT NULL,                 -- microseconds UTC
  counted TEXT   COLLATE "C" NOT NULL CHECK (counted IN ('tenant', 'key', 'user')),
  who     TEXT   COLLATE "C" NOT NULL,
  PRIMARY KEY (counted, who)
) WITH (
  -- Few rows that are written all the time: as tenant_counts. No other index has to be told of a change.
  fillfactor = 20,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
  vacuum_truncate = off
);
