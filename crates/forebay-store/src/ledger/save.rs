//! Writing a job's change: the row, guarded by what it was, its event, and what its end means for others.

use forebay_core::event::{EventType, JobEvent};
use forebay_core::job::{Job, State};
use forebay_core::lifecycle::Change;

use super::columns::{int, split};
use super::transaction::Tx;
use super::values::params;
use super::{batches, letters, ordering, sql};
use crate::StoreError;
use crate::record::{Bytes, JobRecord, NewStep};

/// Writes a change of a job that was loaded in this transaction, and its event (I1). Returns the record as
/// it is then.
pub(super) fn save(tx: &Tx<'_>, before: &JobRecord, change: Change) -> Result<JobRecord, StoreError> {
    save_numbered(tx, before, change).map(|(after, _)| after)
}

/// As [`save`], with the number of the change's event. That need not be the last one of the log: a job's end may be
/// that of its batches.
pub(super) fn save_numbered(
    tx: &Tx<'_>,
    before: &JobRecord,
    change: Change,
) -> Result<(JobRecord, i64), StoreError> {
    let event = change.event;
    let after = changed(tx, before, change.job);
    write(tx, before, &after)?;
    let number = append_event(tx, &after, event)?;
    if after.job.state.is_terminal() && !before.job.state.is_terminal() {
        ended(tx, &after, number)?;
    }
    Ok((after, number))
}

fn changed(tx: &Tx<'_>, before: &JobRecord, job: Job) -> JobRecord {
    let newly_ended = job.state.is_terminal() && before.finished_at.is_none();
    JobRecord {
        job,
        updated_at: tx.now,
        finished_at: if newly_ended { Some(tx.now) } else { before.finished_at },
        ..before.clone()
    }
}

/// Whether a job may be claimed at once.
fn claimable(tx: &Tx<'_>, record: &JobRecord) -> bool {
    let queued = matches!(record.job.state, State::Ready | State::RetryScheduled);
    queued && !record.behind_key && record.job.available_at <= tx.now
}

/// Where in its lane a job stands.
pub(super) fn place(record: &JobRecord) -> i64 {
    let job = &record.job;
    let started = job.step > 1 || job.attempts + job.deferrals > 0 || job.fence > 0;
    record.priority.place(job.available_at, started)
}

/// Writes the row, guarded by what it was: it was read, and locked where others write too, in this transaction.
fn write(tx: &Tx<'_>, before: &JobRecord, after: &JobRecord) -> Result<(), StoreError> {
    let claimable = claimable(tx, after);
    match (before.job.state, after.job.state) {
        (State::Ready | State::RetryScheduled, State::Running) => claim(tx, before, after)?,
        _ => update(tx, before, after, claimable)?,
    }
    tx.know_job(after);
    if claimable {
        tx.note_due(&after.pool, None);
    }
    if before.job.state == State::Running && after.job.fence > before.job.fence {
        tx.note_taken(after.id, after.job.fence);
    }
    Ok(())
}

/// A claim changes so little that it leaves most indexes alone.
fn claim(tx: &Tx<'_>, before: &JobRecord, after: &JobRecord) -> Result<(), StoreError> {
    let job = &after.job;
    tx.write(
        sql!("jobs/claim"),
        params! {
            ":state": job.state.name(),
            ":state_version": int(job.state_version),
            ":fence": int(job.fence),
            ":attempts": job.attempts,
            ":lease_until": job.lease_until.map(|at| at.as_millis()),
            ":updated_at": after.updated_at.as_millis(),
            ":seq": after.seq,
            ":was_fence": int(before.job.fence),
            ":was_version": int(before.job.state_version),
        },
    )
}

fn update(tx: &Tx<'_>, before: &JobRecord, after: &JobRecord, claimable: bool) -> Result<(), StoreError> {
    let job = &after.job;
    tx.write(
        sql!("jobs/update"),
        params! {
            ":state": job.state.name(),
            ":state_version": int(job.state_version),
            ":fence": int(job.fence),
            ":generation": job.generation,
            ":step": job.step,
            ":attempts": job.attempts,
            ":deferrals": job.deferrals,
            ":step_since": job.step_since.as_millis(),
            ":available_at": job.available_at.as_millis(),
            ":lease_until": job.lease_until.map(|at| at.as_millis()),
            ":deadline": job.deadline.as_millis(),
            ":expires_at": expires_at(job),
            ":failure_class": job.failure.as_ref().map(|failure| failure.class.name()),
            ":failure_message": job.failure.as_ref().map(|failure| &failure.message),
            ":pool": after.pool,
            ":place": place(after),
            ":claimable": claimable,
            ":input_tokens": int(after.usage.input_tokens),
            ":output_tokens": int(after.usage.output_tokens),
            ":cost_micros": after.usage.cost.0,
            ":uncertain_micros": after.usage.uncertain.0,
            ":updated_at": after.updated_at.as_millis(),
            ":finished_at": after.finished_at.map(|at| at.as_millis()),
            ":seq": after.seq,
            ":was_fence": int(before.job.fence),
            ":was_version": int(before.job.state_version),
        },
    )
}

/// The deadline as long as it can end the job: not what a person still decides about, and not what has ended.
fn expires_at(job: &Job) -> Option<i64> {
    let counts = !job.state.is_terminal() && job.state != State::ReviewRequired;
    counts.then_some(job.deadline.as_millis())
}

/// Appends the event that says what happened. Its number is its place in the log.
pub(super) fn append_event(tx: &Tx<'_>, record: &JobRecord, kind: EventType) -> Result<i64, StoreError> {
    let number = tx.next_event_number()?;
    append_numbered(tx, record, kind, number)?;
    Ok(number)
}

/// The same with a number that was taken before: that of the accepted event is the job's own.
pub(super) fn append_numbered(
    tx: &Tx<'_>,
    record: &JobRecord,
    kind: EventType,
    number: i64,
) -> Result<(), StoreError> {
    let event = JobEvent {
        kind,
        job_id: record.id,
        task: &record.task,
        state: record.job.state,
        state_version: record.job.state_version,
        at: tx.now,
        correlation_id: record.correlation_id.as_deref(),
        metadata: record.metadata.as_deref(),
        failure: record.job.failure.as_ref(),
        replayed_by: record.replayed_by,
    };
    tx.write(
        sql!("log/append"),
        (
            number,
            record.tenant,
            record.seq,
            kind.name(),
            int(record.job.state_version),
            tx.now.as_millis(),
            tx.origin.envelope(number, &event),
        ),
    )?;
    tx.note_change(record.id, record.tenant);
    Ok(())
}

/// What a job's end means for others: its tenant may send another, the next of its ordering key may run, and
/// somebody may have to look after what failed. `number` is that of the event that says so.
fn ended(tx: &Tx<'_>, record: &JobRecord, number: i64) -> Result<(), StoreError> {
    tx.tally(|tally| tally.count_pending(record.tenant, -1));
    match (record.job.state, record.replay_of) {
        (State::FailedTerminal, _) => letters::open(tx, record, number)?,
        (State::Cancelled, Some(original)) => {
            // Locked, since who deals with it may be changed by somebody else.
            tx.job(original)?;
            letters::reopen(tx, original)?;
        }
        _ => {}
    }
    batches::job_ended(tx, record)?;
    ordering::ended(tx, record)
}

/// Leaves the current step, with its entry in the journal where it has one. Before the job's change is written, which
/// moves it on.
pub(super) fn leave_step(tx: &Tx<'_>, record: &JobRecord, entry: Option<&Bytes>) -> Result<(), StoreError> {
    let (inline, blob) = entry.map(split).unwrap_or_default();
    let finished_at = entry.map(|_| tx.now.as_millis());
    tx.write_if_needed(sql!("steps/finish"), (record.seq, finished_at, inline, blob))
}

/// As [`save_numbered`], for a change that moves the job on to a planned step.
pub(super) fn save_with_step(
    tx: &Tx<'_>,
    before: &JobRecord,
    change: Change,
    step: &NewStep,
) -> Result<(JobRecord, i64), StoreError> {
    let moved = JobRecord { pool: step.pool.clone(), ..before.clone() };
    let saved = save_numbered(tx, &moved, change)?;
    tx.write(
        sql!("jobs/plan"),
        params! {
            ":kind": step.kind,
            ":model": step.model,
            ":target": step.target,
            ":input": int(step.input_tokens),
            ":output": int(step.output_tokens),
            ":now": tx.now.as_millis(),
            ":seq": before.seq,
        },
    )?;
    Ok(saved)
}
