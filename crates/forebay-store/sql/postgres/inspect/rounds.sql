-- The pools, with the largest cost of a job in their last two rounds.
SELECT name, greatest(quantum, largest) FROM pools ORDER BY name
