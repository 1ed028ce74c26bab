-- What became of a transaction whose commit was not answered.
SELECT pg_xact_status(CAST(CAST(?1 AS text) AS xid8))
