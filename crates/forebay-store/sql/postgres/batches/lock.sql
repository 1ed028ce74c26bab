-- Who takes members in, or cancels, does so alone: what is read of the batch after this stays.
SELECT id FROM batches WHERE id = ?1 FOR UPDATE
