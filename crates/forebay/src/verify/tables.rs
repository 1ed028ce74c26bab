//! The tables of a store: what is asked for, in the words of each database, and what is made of its rows.

use super::records::{
    Attempt, Audit, Batch, Budget, Calls, Deleted, Epochs, Event, Grant, Id, IdempotencyKey, Input, Job,
    JobResult, KeptKey, Letter, Member, Records, Review, Revision, Step, Tenant, UsageDay,
};
use super::rows::{Columns, Mismatch};

type Read<T> = Result<T, Mismatch>;

/// One statement, and what becomes of the rows that it finds.
pub(super) struct Table {
    /// What it is called in an error, and the name of its files.
    pub(super) name: &'static str,
    /// The statement for SQLite.
    pub(super) sqlite: &'static str,
    /// The statement for PostgreSQL: the same columns in the same order.
    pub(super) postgres: &'static str,
    /// Adds a row to the records.
    pub(super) take: fn(&mut Columns, &mut Records) -> Read<()>,
}

/// The table of the statements in `sql/verify/sqlite/NAME.sql` and `sql/verify/postgres/NAME.sql`.
macro_rules! table {
    ($name:literal, |$columns:ident, $records:ident| $take:expr) => {
        Table {
            name: $name,
            sqlite: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/verify/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/sql/verify/postgres/",
                $name,
                ".sql"
            )),
            take: |$columns, $records| {
                $take;
                Ok(())
            },
        }
    };
}

/// Everything that is read of a store.
pub(super) const TABLES: &[Table] = &[
    table!("meta", |c, all| meta(c, all)?),
    table!("tenants", |c, all| all.tenants.push(tenant(c)?)),
    table!("revisions", |c, all| all.revisions.push(Revision { number: c.next()?, source: c.next()? })),
    table!("jobs", |c, all| all.jobs.push(job(c)?)),
    table!("inputs", |c, all| all.inputs.push(input(c)?)),
    table!("idempotency_keys", |c, all| all.keys.push(key(c)?)),
    table!("steps", |c, all| all.steps.push(step(c)?)),
    table!("attempts", |c, all| all.attempts.push(attempt(c)?)),
    table!("grants", |c, all| all.grants.push(grant(c)?)),
    table!("calls", |c, all| {
        all.calls.push(Calls { kind: c.next()?, name: c.next()?, in_flight: c.next()? })
    }),
    table!("kept_keys", |c, all| all.kept_keys.push(kept_key(c)?)),
    table!("budgets", |c, all| all.budgets.push(budget(c)?)),
    table!("usage_days", |c, all| all.usage_days.push(usage_day(c)?)),
    table!("deleted", |c, all| all.deleted = deleted(c)?),
    table!("deleted_money", |c, all| all.deleted_money.push(deleted_money(c)?)),
    table!("deleted_usage", |c, all| all.deleted_usage.push(usage_day(c)?)),
    table!("log_deleted", |c, all| all.log_deleted.push((c.next()?, (c.next()?, c.next()?)))),
    table!("results", |c, all| all.results.push(result(c)?)),
    table!("reviews", |c, all| all.reviews.push(review(c)?)),
    table!("events", |c, all| all.events.push(event(c)?)),
    table!("audit", |c, all| all.audit.push(audit(c)?)),
    table!("dead_letters", |c, all| all.letters.push(letter(c)?)),
    table!("batches", |c, all| all.batches.push(batch(c)?)),
    table!("batch_members", |c, all| all.members.push(member(c)?)),
    table!("documents", |c, all| all.blobs.push((None, c.next()?))),
    table!("blobs", |c, all| all.blobs.push((c.next()?, c.next()?))),
];

fn meta(c: &mut Columns, all: &mut Records) -> Read<()> {
    all.incarnation = c.next()?;
    let (current, closed): (Option<i64>, Option<i64>) = (c.next()?, c.next()?);
    all.epochs = current.zip(closed).map(|(current, closed)| Epochs { current, closed });
    Ok(())
}

fn tenant(c: &mut Columns) -> Read<Tenant> {
    Ok(Tenant {
        id: c.next()?,
        name: c.next()?,
        max_pending_jobs: c.next()?,
        budget_micros: c.next()?,
        budget_period: c.next()?,
        pending_jobs: c.next()?,
        in_flight: c.next()?,
    })
}

fn job(c: &mut Columns) -> Read<Job> {
    Ok(Job {
        id: c.next()?,
        seq: c.next()?,
        tenant: c.next()?,
        task: c.next()?,
        kind: c.next()?,
        revision: c.next()?,
        state: c.next()?,
        state_version: c.next()?,
        fence: c.next()?,
        generation: c.next()?,
        step: c.next()?,
        attempts: c.next()?,
        deferrals: c.next()?,
        available_at: c.next()?,
        lease_until: c.next()?,
        deadline: c.next()?,
        failure_class: c.next()?,
        failure_message: c.next()?,
        pool: c.next()?,
        claimable: c.next()?,
        key_first: c.next()?,
        keeps_key: c.next()?,
        ordering_key: c.next()?,
        input_tokens: c.next()?,
        output_tokens: c.next()?,
        cost_micros: c.next()?,
        uncertain_micros: c.next()?,
        updated_at: c.next()?,
        finished_at: c.next()?,
    })
}

fn input(c: &mut Columns) -> Read<Input> {
    Ok(Input {
        job: c.next()?,
        body: c.next()?,
        blob: c.next()?,
        request_digest: c.next()?,
        document: c.next()?,
        idempotency_key: c.next()?,
        series_key: c.next()?,
        series_version: c.next()?,
        not_before: c.next()?,
        replay_of: c.next()?,
        batch: c.next()?,
        created_at: c.next()?,
    })
}

fn key(c: &mut Columns) -> Read<IdempotencyKey> {
    Ok(IdempotencyKey {
        tenant: c.next()?,
        key: c.next()?,
        job: c.next()?,
        body_digest: c.next()?,
        expires_at: c.next()?,
        ended: c.next()?,
    })
}

fn step(c: &mut Columns) -> Read<Step> {
    Ok(Step {
        job: c.next()?,
        generation: c.next()?,
        number: c.next()?,
        finished_at: c.next()?,
        entry: c.next()?,
        has_entry: c.next()?,
    })
}

fn attempt(c: &mut Columns) -> Read<Attempt> {
    Ok(Attempt {
        id: c.next()?,
        job: c.next()?,
        tenant: c.next()?,
        generation: c.next()?,
        step: c.next()?,
        number: c.next()?,
        fence: c.next()?,
        worker: c.next()?,
        build: c.next()?,
        task: c.next()?,
        pool: c.next()?,
        model: c.next()?,
        claimed_at: c.next()?,
        settled_at: c.next()?,
        outcome: c.next()?,
        failure_class: c.next()?,
        message: c.next()?,
        reserved_input: c.next()?,
        reserved_output: c.next()?,
        reserved_micros: c.next()?,
        price_input: c.next()?,
        price_cached: c.next()?,
        price_output: c.next()?,
        budget_start: c.next()?,
        input_tokens: c.next()?,
        cached_tokens: c.next()?,
        output_tokens: c.next()?,
        cost_micros: c.next()?,
        uncertain_micros: c.next()?,
        overage_micros: c.next()?,
        evidence: c.next()?,
    })
}

fn grant(c: &mut Columns) -> Read<Grant> {
    Ok(Grant {
        attempt: c.next()?,
        job: c.next()?,
        tenant: c.next()?,
        pool: c.next()?,
        task: c.next()?,
        lane: c.next()?,
        tokens: c.next()?,
        lease_until: c.next()?,
    })
}

fn kept_key(c: &mut Columns) -> Read<KeptKey> {
    Ok(KeptKey {
        tenant: c.next()?,
        task: c.next()?,
        ordering_key: c.next()?,
        first_job: c.next()?,
        latest_job: c.next()?,
    })
}

fn budget(c: &mut Columns) -> Read<Budget> {
    Ok(Budget {
        tenant: c.next()?,
        period_start: c.next()?,
        reserved: c.next()?,
        spent: c.next()?,
        uncertain: c.next()?,
        overage: c.next()?,
    })
}

fn deleted(c: &mut Columns) -> Read<Deleted> {
    Ok(Deleted { jobs: c.next()?, attempts: c.next()?, accepted_until: c.next()? })
}

fn deleted_money(c: &mut Columns) -> Read<Budget> {
    Ok(Budget {
        tenant: c.next()?,
        period_start: c.next()?,
        reserved: 0,
        spent: c.next()?,
        uncertain: c.next()?,
        overage: c.next()?,
    })
}

fn usage_day(c: &mut Columns) -> Read<UsageDay> {
    Ok(UsageDay {
        tenant: c.next()?,
        day: c.next()?,
        task: c.next()?,
        model: c.next()?,
        pool: c.next()?,
        attempts: c.next()?,
        input_tokens: c.next()?,
        output_tokens: c.next()?,
        cost_micros: c.next()?,
        uncertain_micros: c.next()?,
    })
}

fn result(c: &mut Columns) -> Read<JobResult> {
    Ok(JobResult {
        job: c.next()?,
        generation: c.next()?,
        output: c.next()?,
        provenance: c.next()?,
        created_at: c.next()?,
    })
}

fn review(c: &mut Columns) -> Read<Review> {
    Ok(Review {
        job: c.next()?,
        generation: c.next()?,
        opened_at: c.next()?,
        due_at: c.next()?,
        due_default: c.next()?,
        alerted_at: c.next()?,
        output: c.next()?,
        has_output: c.next()?,
        decided_at: c.next()?,
        decision: c.next()?,
        decided_by: c.next()?,
        decided_version: c.next()?,
        decided_seq: c.next()?,
    })
}

fn event(c: &mut Columns) -> Read<Event> {
    let job: Option<Id> = c.next()?;
    let mut event = Event {
        seq: c.next()?,
        epoch: c.next()?,
        tenant: c.next()?,
        job: job.unwrap_or_default(),
        kind: c.next()?,
        state_version: c.next()?,
        at: c.next()?,
        body: c.next()?,
    };
    // A batch's event names it in its body only.
    if job.is_none() {
        let body: serde_json::Value = serde_json::from_slice(&event.body).unwrap_or_default();
        event.job = body["subject"].as_str().and_then(|batch| Id::parse(batch, "batch")).unwrap_or_default();
    }
    Ok(event)
}

fn audit(c: &mut Columns) -> Read<Audit> {
    Ok(Audit {
        seq: c.next()?,
        at: c.next()?,
        tenant: c.next()?,
        actor: c.next()?,
        action: c.next()?,
        subject: c.next()?,
        before: c.next()?,
        after: c.next()?,
    })
}

fn letter(c: &mut Columns) -> Read<Letter> {
    Ok(Letter {
        job: c.next()?,
        tenant: c.next()?,
        seq: c.next()?,
        class: c.next()?,
        failed_at: c.next()?,
        state: c.next()?,
    })
}

fn batch(c: &mut Columns) -> Read<Batch> {
    Ok(Batch {
        id: c.next()?,
        tenant: c.next()?,
        kind: c.next()?,
        size: c.next()?,
        open: c.next()?,
        filled_at: c.next()?,
        finished_at: c.next()?,
    })
}

fn member(c: &mut Columns) -> Read<Member> {
    Ok(Member { batch: c.next()?, position: c.next()?, job: c.next()?, replay_of: c.next()? })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_statement_is_there_for_both_databases_and_is_used() {
        let names: BTreeSet<_> = TABLES.iter().map(|table| table.name.to_owned()).collect();
        for database in ["sqlite", "postgres"] {
            let folder = format!("{}/sql/verify/{database}", env!("CARGO_MANIFEST_DIR"));
            let files = std::fs::read_dir(folder).unwrap();
            let files =
                files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned());
            assert_eq!(files.collect::<BTreeSet<_>>(), names, "{database}");
        }
    }
}
