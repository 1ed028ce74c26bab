-- One process writes the log: it has no epochs.
SELECT incarnation, NULL AS current, NULL AS closed FROM meta
