//! Writing what became of an attempt: one transaction, guarded by fence and incarnation.

use async_trait::async_trait;
use forebay_core::failure::{FailureClass, Retry};
use forebay_core::job::{Job, State};
use forebay_core::lifecycle::{self, Change, End, Failed, Refusal};
use forebay_core::time::Millis;

use super::columns::split;
use super::settle::{self, Permit};
use super::transaction::Tx;
use super::{Backend, Ledger, Needs, fingerprints, queue, reviews, save, sql};
use crate::record::{Committed, Held, JobRecord, NewResult, StepCommit, Then};
use crate::{Steps, StoreError};

/// How long a pool rests after a limit when the provider did not say.
const DEFAULT_COOLDOWN: Millis = Millis::from_secs(1);

#[async_trait]
impl<B: Backend> Steps for Ledger<B> {
    async fn commit_step(&self, commit: StepCommit) -> Result<Committed, StoreError> {
        self.write("commit_step", needs(&commit), move |tx| commit_step(tx, &commit)).await
    }
}

/// The job, which may be in hand; its end may be that of a batch.
fn needs(commit: &StepCommit) -> Needs {
    Needs { events: 2, ..Needs::job(commit.job_id) }
}

/// Decides, settles, journals and moves the job on. Where the job is not the caller's any more, only
/// evidence remains.
fn commit_step(tx: &Tx<'_>, commit: &StepCommit) -> Result<Committed, StoreError> {
    let Some(record) = tx.job(commit.job_id)? else {
        return lost(tx, commit);
    };
    if commit.incarnation != tx.origin.incarnation {
        return lost(tx, commit);
    }
    let change = match decide(tx, &record.job, commit) {
        Ok(change) => change,
        Err(_not_the_owner) => return lost(tx, commit),
    };
    if let Then::Succeed { fingerprint: Some(fingerprint), .. } = &commit.then
        && let Some(of) = fingerprints::held_by_another(tx, &record, *fingerprint)?
    {
        return Ok(Committed::Duplicate { of });
    }
    let attempt = Some(commit.attempt_id);
    let Some(used) = settle::settle(tx, &record, attempt, &commit.close, Permit::Return)? else {
        return lost(tx, commit);
    };
    let record = record.with_use_of(&used);
    cool_down(tx, &record, commit)?;
    write_entry(tx, &record, &commit.then)?;
    let after = advance(tx, &record, change, &commit.then)?;
    Ok(Committed::Done { state: after.job.state, available_at: after.job.available_at })
}

fn lost(tx: &Tx<'_>, commit: &StepCommit) -> Result<Committed, StoreError> {
    settle::keep_evidence(tx, &held(commit), &commit.close)?;
    Ok(Committed::Lost)
}

fn held(commit: &StepCommit) -> Held {
    Held { job_id: commit.job_id, attempt_id: commit.attempt_id, fence: commit.fence }
}

/// What the rules make of it.
fn decide(tx: &Tx<'_>, job: &Job, commit: &StepCommit) -> Result<Change, Refusal> {
    let fence = commit.fence;
    match &commit.then {
        Then::Next { .. } => lifecycle::step_done(job, fence, tx.now),
        Then::Succeed { .. } => lifecycle::finish(job, fence, End::Succeeded),
        Then::Review { failure, .. } => lifecycle::finish(job, fence, End::Review(failure.clone())),
        Then::FailJob { failure, .. } => lifecycle::finish(job, fence, End::Failed(failure.clone())),
        Then::Fail(failed, _) => lifecycle::fail(job, &Failed { fence, now: tx.now, ..failed.clone() }),
        Then::Release => lifecycle::release(job, fence),
    }
}

/// A provider's limit stops the whole pool, not one job after the other (I16, I17).
fn cool_down(tx: &Tx<'_>, record: &JobRecord, commit: &StepCommit) -> Result<(), StoreError> {
    let class = commit.close.failure.as_ref().map(|failure| failure.class);
    let Some(class) = class.filter(|class| limits_the_pool(*class)) else {
        return Ok(());
    };
    match commit.close.cooldown {
        Some(wait) => queue::cool_down(tx, &record.pool, tx.now.after(wait), class),
        None if class.facts().retry == Retry::Defer => {
            queue::cool_down(tx, &record.pool, tx.now.after(DEFAULT_COOLDOWN), class)
        }
        None => Ok(()),
    }
}

fn limits_the_pool(class: FailureClass) -> bool {
    class.facts().retry == Retry::Defer || class == FailureClass::Overloaded
}

fn write_entry(tx: &Tx<'_>, record: &JobRecord, then: &Then) -> Result<(), StoreError> {
    let entry = match then {
        Then::Next { entry, .. } | Then::Succeed { entry, .. } => Some(entry),
        Then::Review { entry, .. } | Then::FailJob { entry, .. } => entry.as_ref(),
        Then::Fail(..) | Then::Release => None,
    };
    entry.map_or(Ok(()), |entry| save::leave_step(tx, record, Some(entry)))
}

/// Moves the job on, with what that needs beside its row.
fn advance(tx: &Tx<'_>, before: &JobRecord, change: Change, then: &Then) -> Result<JobRecord, StoreError> {
    let review = match then {
        Then::Review { review, .. } | Then::Fail(_, review) => Some(review),
        Then::Next { .. } | Then::Succeed { .. } | Then::FailJob { .. } | Then::Release => None,
    };
    let state = change.job.state;
    let after = match then {
        Then::Next { step, .. } => save::save_with_step(tx, before, change, step)?.0,
        _ => save::save(tx, before, change)?,
    };
    match (state, then, review) {
        (State::Succeeded, Then::Succeed { result, fingerprint, .. }, _) => {
            insert_result(tx, &after, result)?;
            if let Some(fingerprint) = fingerprint {
                fingerprints::take(tx, &after, *fingerprint)?;
            }
        }
        (State::ReviewRequired, _, Some(review)) => reviews::open(tx, &after, review)?,
        _ => {}
    }
    Ok(after)
}

pub(super) fn insert_result(tx: &Tx<'_>, record: &JobRecord, result: &NewResult) -> Result<(), StoreError> {
    let (inline, blob) = split(&result.output);
    let at = tx.now.as_millis();
    let row = (record.seq, record.job.generation, inline, blob, &result.provenance, at);
    tx.write(sql!("steps/insert_result"), row)?;
    Ok(())
}
