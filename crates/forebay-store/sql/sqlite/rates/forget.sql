-- Buckets that are full again. They are few, so that no index has to be told of every job.
DELETE FROM submit_rates WHERE (counted, who) IN (SELECT counted, who FROM submit_rates WHERE full_at <= ?1 LIMIT ?2)
