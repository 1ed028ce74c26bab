//! Doing the work of failed jobs again: a new job each, in one transaction with what that says of the old one,
//! whose row does not change (I13).

use async_trait::async_trait;
use forebay_core::event::EventType;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::lifecycle;
use serde_json::json;

use super::transaction::Tx;
use super::{Backend, Ledger, Needs, accept, audit, jobs, letters, save, sql};
use crate::record::{
    Accepted, AuditAction, JobRecord, LetterRecord, LetterState, NewReplay, ReplayQuery, ReplayRefused,
    ReplaySource,
};
use crate::{Replays, StoreError};

#[async_trait]
impl<B: Backend> Replays for Ledger<B> {
    async fn replay_source(&self, tenant: i64, job: JobId) -> Result<Option<ReplaySource>, StoreError> {
        self.read(move |tx| jobs::of_tenant(tx, tenant, job)?.map(|record| source(tx, 0, record)).transpose())
            .await
    }

    async fn replayable(
        &self,
        tenant: i64,
        query: ReplayQuery,
        limit: usize,
    ) -> Result<Vec<ReplaySource>, StoreError> {
        self.read(move |tx| {
            let found = letters::oldest(tx, tenant, &query, limit)?;
            let sources = found.into_iter().filter_map(|(seq, job)| {
                jobs::of_tenant(tx, tenant, job).transpose().map(|record| source(tx, seq, record?))
            });
            sources.collect()
        })
        .await
    }

    async fn replay(&self, replay: NewReplay) -> Result<Result<Accepted, ReplayRefused>, StoreError> {
        self.write("replay", Needs::nothing(), move |tx| again(tx, &replay)).await
    }
}

fn source(tx: &Tx<'_>, seq: i64, job: JobRecord) -> Result<ReplaySource, StoreError> {
    let found = tx.row(sql!("letters/input"), [job.seq], |c| {
        let input = c.bytes()?;
        let (key, version): (Option<String>, Option<i64>) = (c.get()?, c.get()?);
        Ok((input, key.zip(version)))
    })?;
    let (input, series) = found.ok_or_else(|| StoreError::Corrupt(format!("{} has no input", job.id)))?;
    Ok(ReplaySource { seq, job, input, series })
}

/// The key first, as for any submission; then whether the old job may be done again; then admission.
pub(super) fn again(tx: &Tx<'_>, replay: &NewReplay) -> Result<Result<Accepted, ReplayRefused>, StoreError> {
    if let Some(known) = accept::known(tx, &replay.job)? {
        return Ok(known.map_err(ReplayRefused::NotAccepted));
    }
    let letter = match replayed(tx, replay)? {
        Ok(letter) => letter,
        Err(refused) => return Ok(Err(refused)),
    };
    let accepted = match accept::accept(tx, &replay.job)? {
        Ok(accepted) => accepted,
        Err(refused) => return Ok(Err(ReplayRefused::NotAccepted(refused))),
    };
    note(tx, replay, &letter)?;
    Ok(Ok(accepted))
}

/// The dead letter whose work is to be done again, if it may be.
fn replayed(tx: &Tx<'_>, replay: &NewReplay) -> Result<Result<LetterRecord, ReplayRefused>, StoreError> {
    let Some(original) = replay.job.replay_of else {
        return Ok(Err(ReplayRefused::NoJob));
    };
    let Some(record) = jobs::of_tenant(tx, replay.job.tenant, original)? else {
        return Ok(Err(ReplayRefused::NoJob));
    };
    if lifecycle::replay(&record.job).is_err() {
        return Ok(Err(ReplayRefused::NotFailed { state: record.job.state }));
    }
    let stands = |state: &State| !matches!(state, State::FailedTerminal | State::Cancelled);
    let other = letters::replays(tx, original)?.into_iter().find(|(_, state)| stands(state));
    if let Some((by, _)) = other.filter(|_| !replay.again) {
        return Ok(Err(ReplayRefused::Replayed { by }));
    }
    letters::one(tx, replay.job.tenant, original)?
        .map(Ok)
        .ok_or_else(|| StoreError::Corrupt(format!("{original} failed and is no dead letter")))
}

/// Says of the old job that the new one does its work: an event that repeats its version, and who asked.
fn note(tx: &Tx<'_>, replay: &NewReplay, letter: &LetterRecord) -> Result<(), StoreError> {
    let new = &replay.job;
    let seen = JobRecord { replayed_by: Some(new.id), ..letter.job.clone() };
    save::append_event(tx, &seen, EventType::Replayed)?;
    letters::replayed(tx, letter)?;
    let entry = audit::Entry {
        tenant: Some(new.tenant),
        by: &replay.by,
        action: AuditAction::JobReplay,
        subject: letter.job.id.to_string(),
        before: Some(json!({ "state": letter.state.name() })),
        after: Some(json!({
            "state": LetterState::Replayed.name(),
            "replay": new.id,
            "revision": new.revision,
            "reason": replay.reason,
        })),
    };
    audit::append(tx, &entry)
}
