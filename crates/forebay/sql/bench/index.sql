CREATE INDEX IF NOT EXISTS floor_jobs_pending ON floor_jobs (id) WHERE state = 0
