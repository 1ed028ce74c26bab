UPDATE retention SET
  jobs = jobs + :jobs, attempts = attempts + :attempts, events = events + :events, batches = batches + :batches,
  documents = documents + :documents, keys = keys + :keys
WHERE id = 1
