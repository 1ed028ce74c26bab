SELECT DISTINCT digest, bytes FROM documents
