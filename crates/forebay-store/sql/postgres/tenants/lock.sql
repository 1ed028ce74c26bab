-- What a tenant has one of at a time, one process at a time writes. Keys may be added meanwhile: their reference to
-- the tenant does not wait for this lock.
SELECT id FROM tenants WHERE id = ?1 FOR NO KEY UPDATE
