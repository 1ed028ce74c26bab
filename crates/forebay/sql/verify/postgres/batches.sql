SELECT id, tenant, kind, size, open, filled_at, finished_at FROM batches
