-- A job that is going to be changed, as it is when whoever changed it before has committed. The columns are those of
-- job_records, in its order; the view itself would lock the input, too.
SELECT j.id, j.seq, j.tenant, j.task, j.kind, j.revision,
       j.state, j.state_version, j.fence, j.generation, j.step, j.attempts, j.deferrals, j.step_since,
       j.available_at, j.lease_until, j.deadline, j.open_children, j.failure_class, j.failure_message,
       j.priority, j.pool, j.ordering_key, j.key_first, j.keeps_key,
       j.input_tokens, j.output_tokens, j.cost_micros, j.uncertain_micros,
       i.created_at, j.updated_at, j.finished_at,
       i.metadata, i.correlation_id, i.replay_of, i.request_digest, i.document, j.batch,
       CASE WHEN j.state = 'FAILED_TERMINAL' THEN (
         SELECT ri.id FROM inputs ri
         WHERE ri.replay_of = i.id ORDER BY ri.job DESC LIMIT 1
       ) END AS replayed_by,
       j.model, j.step_input, j.step_output
FROM inputs i JOIN jobs j ON j.seq = i.job
WHERE i.id = ?1
FOR UPDATE OF j
