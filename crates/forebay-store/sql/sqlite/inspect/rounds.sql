-- The pools, with the largest cost of a job in their last two rounds.
SELECT name, max(quantum, largest) FROM pools ORDER BY name
