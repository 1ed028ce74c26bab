//! What must hold between rows. Each query gives a row for each place where it does not. Both databases take it: the other
//! one with a few words in place of others.

use rusqlite::Connection;

/// What is wrong, and the query that finds it.
pub const FAULTS: &[(&str, &str)] = &[
    (
        "the calls in flight of a pool, their tokens, and the calls of a task or a key are its grants",
        "SELECT c.name FROM calls c WHERE c.in_flight <> (
           SELECT coalesce(sum(CASE c.kind WHEN 'tokens' THEN a.reserved_input + a.reserved_output ELSE 1 END), 0) FROM attempts a
           WHERE a.permit_until IS NOT NULL
             AND CASE c.kind WHEN 'key' THEN CAST(a.lane AS TEXT) WHEN 'task' THEN a.task ELSE a.pool END = c.name)",
    ),
    (
        "a grant is counted for its pool, its task and its key",
        "SELECT a.pool FROM attempts a WHERE a.permit_until IS NOT NULL AND CASE WHEN a.lane = 0 THEN 3 ELSE 4 END <> (
           SELECT count(*) FROM calls c
           WHERE (c.kind, c.name) IN (('pool', a.pool), ('tokens', a.pool), ('task', a.task), ('key', CAST(a.lane AS TEXT))))",
    ),
    (
        "a lane was served what its tenant's attempts count for",
        "SELECT a.pool FROM attempts a LEFT JOIN lanes l ON l.pool = a.pool AND l.tenant = a.tenant
         GROUP BY a.pool, a.tenant, l.served
         HAVING coalesce(l.served, 0) < sum(a.reserved_input + a.reserved_output)
            OR (coalesce(l.served, 0) > sum(a.reserved_input + a.reserved_output)
                -- What was deleted was served, too.
                AND NOT EXISTS (SELECT 1 FROM deleted_usage d WHERE d.tenant = a.tenant AND d.pool = a.pool))",
    ),
    (
        "a job is in the lane of the key that handed it in, and so are its attempts",
        "SELECT j.seq FROM jobs j JOIN inputs i ON i.job = j.seq
         LEFT JOIN keys k ON k.id = i.key_id
         LEFT JOIN attempts a ON a.job = j.seq AND a.lane <> j.lane
         WHERE a.job IS NOT NULL OR CASE WHEN i.key_id IS NULL THEN 0 ELSE coalesce(k.lane, j.lane) END <> j.lane",
    ),
    (
        "a tenant's calls in flight are its grants",
        "SELECT tenant FROM tenant_load l WHERE tenant > 0
           AND in_flight <> (
             SELECT count(*) FROM attempts a WHERE a.tenant = l.tenant AND a.permit_until IS NOT NULL)",
    ),
    (
        "the jobs that are pending everywhere are those of all tenants",
        "SELECT pending_jobs FROM tenant_load WHERE tenant = 0
           AND pending_jobs <> (SELECT count(*) FROM jobs WHERE finished_at IS NULL)",
    ),
    (
        "an open attempt is its running job's, under its fence",
        "SELECT hex(a.id) FROM attempts a JOIN jobs j ON j.seq = a.job
         WHERE a.settled_at IS NULL AND (j.state, j.fence) <> ('RUNNING', a.fence)",
    ),
    (
        "a budget has booked the attempts of its period, and those that were deleted",
        "SELECT b.tenant, b.period_start FROM budgets b
         WHERE (reserved_micros, spent_micros, uncertain_micros, overage_micros) <> (
           SELECT coalesce(sum(reserved), 0), coalesce(sum(spent), 0), coalesce(sum(uncertain), 0), coalesce(sum(overage), 0)
           FROM (
             SELECT CASE WHEN settled_at IS NULL THEN reserved_micros ELSE 0 END AS reserved, cost_micros AS spent,
                    uncertain_micros AS uncertain, overage_micros AS overage
             FROM attempts a WHERE a.tenant = b.tenant AND a.budget_start = b.period_start
             UNION ALL
             SELECT 0, spent_micros, uncertain_micros, overage_micros
             FROM deleted_money d WHERE d.tenant = b.tenant AND d.period_start = b.period_start) booked)",
    ),
    (
        "every attempt is booked in a budget",
        "SELECT hex(a.id) FROM attempts a
         WHERE NOT EXISTS (SELECT 1 FROM budgets b
                           WHERE b.tenant = a.tenant AND b.period_start = a.budget_start)",
    ),
    (
        "of the unfinished jobs of an ordering key one is marked as first, or none where a failed job keeps it",
        "SELECT min(hex(j.id)) FROM jobs j
         WHERE finished_at IS NULL AND ordering_key IS NOT NULL
         GROUP BY tenant, task, ordering_key
         HAVING sum(CASE WHEN key_first THEN 1 ELSE 0 END) NOT IN (1, CASE WHEN EXISTS (
           SELECT 1 FROM kept_keys k WHERE (k.tenant, k.task, k.ordering_key) = (j.tenant, j.task, j.ordering_key)
         ) THEN 0 ELSE 1 END)",
    ),
    (
        "the first of an ordering key was accepted first, or does a failed job's work again; others have no order",
        "SELECT hex(j.id) FROM jobs j JOIN inputs i ON i.job = j.seq
         WHERE j.finished_at IS NULL AND CASE WHEN j.ordering_key IS NULL THEN NOT j.key_first ELSE
           j.key_first AND i.replay_of IS NULL AND EXISTS (
             SELECT 1 FROM jobs e
             WHERE e.finished_at IS NULL AND e.seq < j.seq
               AND (e.tenant, e.task, e.ordering_key) = (j.tenant, j.task, j.ordering_key)) END",
    ),
    (
        "of a key that a failed job keeps nothing runs but what does its work again",
        "SELECT hex(j.id) FROM jobs j JOIN inputs i ON i.job = j.seq
         WHERE j.finished_at IS NULL AND j.key_first AND EXISTS (
           SELECT 1 FROM kept_keys k
           WHERE (k.tenant, k.task, k.ordering_key) = (j.tenant, j.task, j.ordering_key)) AND NOT EXISTS (
           SELECT 1 FROM kept_keys k
           WHERE (k.tenant, k.task, k.ordering_key) = (j.tenant, j.task, j.ordering_key)
             AND i.replay_of IN (k.first_job, k.latest_job))",
    ),
    (
        "what keeps a key has failed",
        "SELECT hex(k.latest_job) FROM kept_keys k LEFT JOIN inputs i ON i.id = k.latest_job
         LEFT JOIN jobs j ON j.seq = i.job
         WHERE j.seq IS NULL OR j.state <> 'FAILED_TERMINAL'",
    ),
    (
        "a job's first event is the one that it is numbered by",
        "SELECT hex(id) FROM jobs j WHERE j.seq <> (SELECT min(e.seq) FROM events e WHERE e.job = j.seq)",
    ),
    (
        "a job that is claimable is first of its key",
        "SELECT hex(id) FROM jobs WHERE claimable AND NOT key_first",
    ),
    (
        "a fingerprint is held by a job of its tenant and task that succeeded, or did before it was deleted",
        "SELECT hex(f.job_id) FROM fingerprints f JOIN jobs j ON j.id = f.job_id
         WHERE (j.tenant, j.task, j.state) <> (f.tenant, f.task, 'SUCCEEDED')",
    ),
    (
        "a job has its input, and a journal of the steps before the one that it is at",
        "SELECT hex(j.id) FROM jobs j LEFT JOIN inputs i ON i.job = j.seq
         WHERE i.job IS NULL OR j.step - 1 <> (
           SELECT count(*) FROM steps s
           WHERE (s.job, s.generation) = (j.seq, j.generation) AND s.number < j.step AND s.finished_at IS NOT NULL)",
    ),
    (
        "a result is there when its job succeeded, and only then",
        "SELECT hex(j.id) FROM jobs j
         LEFT JOIN results r ON (r.job, r.generation) = (j.seq, j.generation)
         WHERE (j.state = 'SUCCEEDED') <> (r.job IS NOT NULL)",
    ),
    (
        "a review is open while its job is in review, and only then",
        "SELECT hex(j.id) FROM jobs j
         LEFT JOIN reviews r ON (r.job_id, r.generation) = (j.id, j.generation) AND r.decided_at IS NULL
         WHERE (j.state = 'REVIEW_REQUIRED') <> (r.job_id IS NOT NULL)",
    ),
    (
        "a job that failed is a dead letter, and no other, which repeats what it was",
        "SELECT hex(j.id) FROM jobs j LEFT JOIN dead_letters d ON d.job_id = j.id
         WHERE (j.state = 'FAILED_TERMINAL') <> (d.job_id IS NOT NULL)
            OR (d.tenant, d.task, d.revision, d.class, d.failed_at)
              <> (j.tenant, j.task, j.revision, j.failure_class, j.finished_at)",
    ),
    (
        "an open dead letter has no replay that was not cancelled, and one that is replayed has",
        "SELECT hex(job_id) FROM dead_letters d WHERE state IN ('open', 'replayed') AND (state = 'replayed') <> EXISTS (
           SELECT 1 FROM inputs i JOIN jobs r ON r.seq = i.job
           WHERE i.replay_of = d.job_id AND r.state <> 'CANCELLED')",
    ),
    (
        "a decided review has its audit record, and only such a one has one",
        "SELECT hex(r.job_id) FROM reviews r
         WHERE CASE WHEN r.decided_seq IS NOT NULL THEN 1 ELSE 0 END <> (
           SELECT count(*) FROM audit a
           WHERE a.tenant = r.tenant AND a.action = 'review.' || coalesce(r.decision, '')
             AND a.subject = 'job_' || lower(hex(r.job_id))
             AND CAST(a.before ->> 'generation' AS INTEGER) = r.generation)",
    ),
    (
        "a decision is an event of its job, and the opening of its review another",
        "SELECT hex(r.job_id) FROM reviews r
         JOIN jobs j ON j.id = r.job_id
         LEFT JOIN events o ON (o.seq, o.job, o.type) = (r.seq, j.seq, 'review_required')
         LEFT JOIN events d ON (d.seq, d.job) = (r.decided_seq, j.seq)
         WHERE o.seq IS NULL OR (r.decided_seq IS NOT NULL AND d.seq IS NULL)",
    ),
    (
        "only an open review is held",
        "SELECT hex(job_id) FROM reviews WHERE claimed_by IS NOT NULL AND decided_at IS NOT NULL",
    ),
    (
        "an event is a job's and has a version that the job has had",
        "SELECT e.seq FROM events e LEFT JOIN jobs j ON j.seq = e.job AND j.tenant = e.tenant
         WHERE e.type <> 'batch.completed' AND (j.id IS NULL OR e.state_version > j.state_version)",
    ),
    (
        "a batch has as many open members as its rows say, and one more while its call takes members in",
        "SELECT hex(id) FROM batches b WHERE open <> CASE WHEN filled_at IS NULL THEN 1 ELSE 0 END + (
           SELECT count(*) FROM batch_members m JOIN jobs j ON j.id = m.job_id
           WHERE m.batch = b.id AND j.finished_at IS NULL)",
    ),
    (
        "a batch that is complete, and no other, has one event that says so",
        "SELECT hex(id) FROM batches b WHERE CASE WHEN finished_at IS NOT NULL THEN 1 ELSE 0 END <> (
           SELECT count(*) FROM events e
           WHERE e.body ->> 'subject' = 'batch_' || lower(hex(b.id)) AND e.tenant = b.tenant AND e.type = 'batch.completed' AND e.at = b.finished_at)",
    ),
    (
        "a job that has not ended knows that it is a member",
        "SELECT hex(m.job_id) FROM batch_members m JOIN jobs j ON j.id = m.job_id 
         WHERE j.finished_at IS NULL AND j.batch IS NULL",
    ),
    (
        "what belongs to a job goes with it",
        "SELECT job FROM (
           SELECT job FROM attempts UNION ALL SELECT job FROM steps UNION ALL SELECT job FROM results
           UNION ALL SELECT job FROM inputs) of_jobs
         WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.seq = of_jobs.job)",
    ),
    (
        "what a person has to do with a job goes with it",
        "SELECT job_id FROM (
           SELECT job_id FROM reviews UNION ALL SELECT job_id FROM dead_letters
           UNION ALL SELECT job_id FROM dead_letter_notes) of_jobs
         WHERE NOT EXISTS (SELECT 1 FROM inputs i WHERE i.id = of_jobs.job_id)",
    ),
    (
        "a key says how its job has ended when that is gone, and only then",
        "SELECT key FROM idempotency_keys k
         WHERE (ended IS NULL) <> EXISTS (SELECT 1 FROM inputs i WHERE i.id = k.job_id)",
    ),
];

/// The sentences that do not hold, with the first row that breaks each.
pub fn faults(connection: &Connection) -> Vec<String> {
    FAULTS
        .iter()
        .filter_map(|(sentence, sql)| {
            let mut statement = connection.prepare(sql).unwrap();
            let mut rows = statement.query(()).unwrap();
            let row = rows.next().unwrap()?;
            Some(format!("not true: {sentence}: {:?}", row.get_ref(0).unwrap()))
        })
        .collect()
}
