-- What another process has locked, it is about to take: nobody waits for it. Only as many rows are locked as are
-- asked for, along the index of the lane; each was read again if it had changed, and is what it was here until the
-- transaction ends.
WITH front AS MATERIALIZED (
  SELECT * FROM jobs
  WHERE claimable AND pool = ?1 AND tenant = ?2
  ORDER BY place, seq LIMIT ?3
  FOR UPDATE SKIP LOCKED)
-- The columns of job_records, in its order. What waits has not failed, so that nothing replays it.
SELECT j.id, j.seq, j.tenant, j.task, j.kind, j.revision,
       j.state, j.state_version, j.fence, j.generation, j.step, j.attempts, j.deferrals, j.step_since,
       j.available_at, j.lease_until, j.deadline, j.open_children, j.failure_class, j.failure_message,
       j.priority, j.pool, j.ordering_key, j.key_first,
       j.input_tokens, j.output_tokens, j.cost_micros, j.uncertain_micros,
       i.created_at, j.updated_at, j.finished_at,
       i.metadata, i.correlation_id, i.replay_of, i.request_digest, i.document, j.batch,
       CAST(NULL AS uuid) AS replayed_by,
       j.model, j.step_input, j.step_output
FROM front j JOIN inputs i ON i.job = ANY (ARRAY[j.seq])
ORDER BY j.place, j.seq
