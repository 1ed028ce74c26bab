SELECT number, source FROM revisions ORDER BY number
