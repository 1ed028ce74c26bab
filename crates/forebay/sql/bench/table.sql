-- One narrow row a job; room in each page for the versions that claim and completion add.
CREATE TABLE IF NOT EXISTS floor_jobs (
    id bigserial PRIMARY KEY,
    state smallint NOT NULL DEFAULT 0,
    fence int NOT NULL DEFAULT 0,
    lease_until timestamptz,
    created timestamptz NOT NULL DEFAULT now(),
    payload text NOT NULL,
    result text
) WITH (fillfactor = 70)
