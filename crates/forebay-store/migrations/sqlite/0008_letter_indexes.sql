-- Dead letters are listed and counted by their indexes alone, whatever is asked for: with a hundred thousand of them a
-- look at each row would take longer than anybody waits.
DROP INDEX dead_letters_by_state;
CREATE INDEX dead_letters_by_state ON dead_letters
  (tenant, state, seq, task, class, revision, failed_at, created_at, owner);
CREATE INDEX dead_letters_by_group ON dead_letters
  (tenant, state, task, class, seq, revision, failed_at, created_at, owner);
