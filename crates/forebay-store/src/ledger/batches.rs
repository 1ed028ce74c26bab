//! Jobs that were handed over in one call. A batch is complete when its call has taken in all members and their
//! jobs have ended, and says so in the transaction that ends the last of them. A job in review has not ended.

use async_trait::async_trait;
use forebay_core::event::{BatchEvent, EventType};
use forebay_core::id::{BatchId, JobId};
use forebay_core::job::State;
use serde_json::json;

use super::columns::{Columns, int, limit};
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, Needs, accept, audit, jobs, replay, signals, sql};
use crate::record::{
    Accepted, Actor, AuditAction, BatchKind, BatchPage, BatchRecord, Begun, JobRecord, Member, MemberProblem,
    MemberRecord, NewBatch, NewJob, NewReplay, Placed, ReplayRefused,
};
use crate::{Batches, StoreError};

#[async_trait]
impl<B: Backend> Batches for Ledger<B> {
    async fn begin_batch(&self, batch: NewBatch) -> Result<Begun, StoreError> {
        self.write("begin_batch", Needs::nothing(), move |tx| begin(tx, &batch)).await
    }

    async fn place(
        &self,
        tenant: i64,
        batch: BatchId,
        members: Vec<(u64, Member)>,
        last: bool,
    ) -> Result<Placed, StoreError> {
        self.write("place", Needs::nothing(), move |tx| place(tx, tenant, batch, &members, last)).await
    }

    async fn batch(&self, tenant: i64, batch: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        self.read(move |tx| whole(tx, tenant, batch)).await
    }

    async fn batches(&self, tenant: i64, before: Option<i64>, most: usize) -> Result<BatchPage, StoreError> {
        self.read(move |tx| page(tx, tenant, before, most)).await
    }

    async fn members(&self, tenant: i64, batch: BatchId) -> Result<Vec<MemberRecord>, StoreError> {
        self.read(move |tx| tx.rows(sql!("batches/members"), (tenant, batch.as_bytes()), member)).await
    }

    async fn cancel_batch(
        &self,
        tenant: i64,
        batch: BatchId,
        most: usize,
        by: Actor,
    ) -> Result<Option<usize>, StoreError> {
        self.write("cancel_batch", Needs::nothing(), move |tx| cancel(tx, tenant, batch, most, &by)).await
    }
}

/// A job has ended: so have the batches of which it was the last.
pub(super) fn job_ended(tx: &Tx<'_>, record: &JobRecord) -> Result<(), StoreError> {
    if record.batch.is_none() {
        return Ok(());
    }
    let changed = tx.rows(sql!("batches/close_member"), (record.id.as_bytes(), tx.now.as_millis()), |c| {
        Ok((c.id()?, c.get::<i64>()?, c.get::<i64>()?))
    })?;
    for (batch, tenant, open) in changed {
        if open == 0 {
            completed(tx, tenant, batch)?;
        }
    }
    Ok(())
}

fn begin(tx: &Tx<'_>, batch: &NewBatch) -> Result<Begun, StoreError> {
    if let Some(key) = &batch.idempotency_key {
        tx.execute(sql!("batches/forget_key"), (batch.tenant, key, tx.now.as_millis()))?;
        let known = tx.row(sql!("batches/find_key"), (batch.tenant, key), |c| Ok((c.id()?, c.digest()?)))?;
        if let Some((id, digest)) = known {
            return Ok(if digest == batch.body_digest { Begun::Known(id) } else { Begun::KeyReused(id) });
        }
    }
    let id: BatchId = signals::new_id(tx.now);
    tx.execute(
        sql!("batches/insert"),
        params! {
            ":id": id.as_bytes(),
            ":tenant": batch.tenant,
            ":kind": batch.kind.name(),
            ":size": int(batch.size),
            ":idempotency_key": batch.idempotency_key,
            ":key_expires_at": tx.now.after(batch.idempotency_ttl).as_millis(),
            ":body_digest": batch.body_digest.as_bytes(),
            ":now": tx.now.as_millis(),
        },
    )?;
    Ok(Begun::New(id))
}

fn place(
    tx: &Tx<'_>,
    tenant: i64,
    batch: BatchId,
    members: &[(u64, Member)],
    last: bool,
) -> Result<Placed, StoreError> {
    lock(tx, batch)?;
    if tx.row(sql!("batches/is_filling"), [batch.as_bytes()], |_| Ok(()))?.is_none() {
        return Ok(Placed::Closed);
    }
    let mut outcomes = Vec::with_capacity(members.len());
    for (position, new) in members {
        outcomes.push(place_one(tx, batch, *position, new)?);
    }
    if last {
        fill(tx, tenant, batch)?;
    }
    Ok(Placed::Each(outcomes))
}

/// Nobody else changes the batch until the commit.
fn lock(tx: &Tx<'_>, batch: BatchId) -> Result<(), StoreError> {
    tx.row(sql!("batches/lock"), [batch.as_bytes()], |_| Ok(())).map(drop)
}

/// Takes one member in, unless that has happened already.
fn place_one(
    tx: &Tx<'_>,
    batch: BatchId,
    position: u64,
    new: &Member,
) -> Result<Result<(), ReplayRefused>, StoreError> {
    let place = (batch.as_bytes(), int(position));
    if tx.row(sql!("batches/member"), place, |_| Ok(()))?.is_some() {
        return Ok(Ok(()));
    }
    let (accepted, replay_of) = match new {
        Member::Refused(refused) => {
            let original = refused.replay_of.as_ref().map(|job| job.as_bytes());
            let row =
                (place.0, place.1, None::<&[u8; 16]>, original, false, refused.status, &refused.problem);
            tx.execute(sql!("batches/insert_member"), row)?;
            return Ok(Ok(()));
        }
        Member::Job(job) => {
            let job = NewJob { batch: Some(batch), ..job.clone() };
            (accept::accept(tx, &job)?.map_err(ReplayRefused::NotAccepted), None)
        }
        Member::Replay(new) => {
            let job = NewJob { batch: Some(batch), ..new.job.clone() };
            (replay::again(tx, &NewReplay { job, ..new.clone() })?, new.job.replay_of)
        }
    };
    match accepted {
        Ok(accepted) => join(tx, place, &accepted, replay_of).map(Ok),
        Err(refused) => Ok(Err(refused)),
    }
}

/// Makes a job a member. One that has ended already is not waited for.
fn join(
    tx: &Tx<'_>,
    place: (&[u8; 16], i64),
    accepted: &Accepted,
    replay_of: Option<JobId>,
) -> Result<(), StoreError> {
    let job = accepted.job_id.as_bytes();
    let original = replay_of.as_ref().map(|job| job.as_bytes());
    let row = (place.0, place.1, Some(job), original, accepted.replayed, 202, None::<&str>);
    tx.execute(sql!("batches/insert_member"), row)?;
    if accepted.state.is_terminal() {
        return Ok(());
    }
    if accepted.replayed {
        // Whoever ends the job meanwhile is waited for, and found to have ended it.
        if tx.job(accepted.job_id)?.is_none_or(|record| record.job.state.is_terminal()) {
            return Ok(());
        }
        tx.execute(sql!("batches/adopt"), (job, place.0))?;
        tx.forget_job(accepted.job_id);
    }
    tx.execute(sql!("batches/add_open"), (place.0, 1))?;
    Ok(())
}

/// The call has taken in its members.
fn fill(tx: &Tx<'_>, tenant: i64, batch: BatchId) -> Result<(), StoreError> {
    let open = tx.row(sql!("batches/fill"), (batch.as_bytes(), tx.now.as_millis()), |c| c.get::<i64>())?;
    if open == Some(0) { completed(tx, tenant, batch) } else { Ok(()) }
}

/// Says that a batch is complete, in the transaction that completes it.
fn completed(tx: &Tx<'_>, tenant: i64, batch: BatchId) -> Result<(), StoreError> {
    let number = tx.next_event_number()?;
    let (_, refused) = placed(tx, batch)?;
    let event = BatchEvent {
        kind: EventType::BatchCompleted,
        batch_id: batch,
        at: tx.now,
        refused,
        counts: &counts(tx, batch)?,
    };
    tx.write(
        sql!("log/append"),
        (
            number,
            tenant,
            None::<i64>,
            event.kind.name(),
            // A batch has no versions.
            0,
            tx.now.as_millis(),
            tx.origin.batch_envelope(number, &event),
        ),
    )?;
    tx.note_batch(batch, tenant);
    Ok(())
}

fn cancel(
    tx: &Tx<'_>,
    tenant: i64,
    batch: BatchId,
    most: usize,
    by: &Actor,
) -> Result<Option<usize>, StoreError> {
    if one(tx, tenant, batch)?.is_none() {
        return Ok(None);
    }
    // Jobs before their batches, as by whoever ends one. What joins in between comes late, and is cancelled all the same.
    tx.lock_jobs(&unfinished(tx, batch, most)?)?;
    lock(tx, batch)?;
    let Some(before) = one(tx, tenant, batch)? else {
        return Ok(None);
    };
    let unfinished = unfinished(tx, batch, most)?;
    for job in &unfinished {
        jobs::cancel(tx, tenant, *job, by)?;
    }
    fill(tx, tenant, batch)?;
    if before.finished_at.is_none() && before.cancelled_at.is_none() {
        tx.execute(sql!("batches/cancelled"), (batch.as_bytes(), tx.now.as_millis()))?;
        let entry = audit::Entry {
            tenant: Some(tenant),
            by,
            action: AuditAction::BatchCancel,
            subject: batch.to_string(),
            before: Some(json!({ "open": before.open })),
            after: Some(json!({ "cancelled_at": tx.now })),
        };
        audit::append(tx, &entry)?;
    }
    Ok(Some(unfinished.len()))
}

/// Members that have not ended, at most so many.
fn unfinished(tx: &Tx<'_>, batch: BatchId, most: usize) -> Result<Vec<JobId>, StoreError> {
    tx.rows(sql!("batches/unfinished"), (batch.as_bytes(), limit(most)), |c| c.id())
}

fn page(tx: &Tx<'_>, tenant: i64, before: Option<i64>, most: usize) -> Result<BatchPage, StoreError> {
    // One more than the page shows whether there is another page.
    let range = (tenant, before.unwrap_or(i64::MAX), limit(most.saturating_add(1)));
    let mut batches = tx.rows(sql!("batches/page"), range, record)?;
    let more = batches.len() > most;
    batches.truncate(most);
    let next = batches.last().filter(|_| more).map(|batch| batch.seq);
    Ok(BatchPage { batches, next })
}

fn one(tx: &Tx<'_>, tenant: i64, batch: BatchId) -> Result<Option<BatchRecord>, StoreError> {
    tx.row(sql!("batches/one"), (tenant, batch.as_bytes()), record)
}

/// A batch with what its members' rows say.
fn whole(tx: &Tx<'_>, tenant: i64, batch: BatchId) -> Result<Option<BatchRecord>, StoreError> {
    let Some(record) = one(tx, tenant, batch)? else {
        return Ok(None);
    };
    let (placed, refused) = placed(tx, batch)?;
    Ok(Some(BatchRecord { placed, refused, counts: counts(tx, batch)?, ..record }))
}

/// How many members were taken in, and how many of them became no job.
fn placed(tx: &Tx<'_>, batch: BatchId) -> Result<(u64, u64), StoreError> {
    let counts = tx.row(sql!("batches/placed"), [batch.as_bytes()], |c| Ok((c.count()?, c.count()?)))?;
    Ok(counts.unwrap_or_default())
}

fn counts(tx: &Tx<'_>, batch: BatchId) -> Result<Vec<(State, u64)>, StoreError> {
    tx.rows(sql!("batches/counts"), [batch.as_bytes()], |c| Ok((c.word(State::from_name)?, c.count()?)))
}

fn record(c: &mut Columns<'_>) -> Result<BatchRecord, StoreError> {
    Ok(BatchRecord {
        seq: c.get()?,
        id: c.id()?,
        tenant: c.get()?,
        kind: c.word(BatchKind::from_name)?,
        size: c.count()?,
        open: c.count()?,
        created_at: c.time()?,
        filled_at: c.maybe_time()?,
        cancelled_at: c.maybe_time()?,
        finished_at: c.maybe_time()?,
        placed: 0,
        refused: 0,
        counts: Vec::new(),
    })
}

fn member(c: &mut Columns<'_>) -> Result<MemberRecord, StoreError> {
    let (position, job_id, replay_of) = (c.count()?, c.maybe_id()?, c.maybe_id()?);
    let (replayed, status, problem): (bool, u16, Option<String>) = (c.get()?, c.count()?, c.get()?);
    let outcome = match job_id {
        Some(job_id) => Ok(Accepted { job_id, state: State::Ready, replayed, rates: Vec::new() }),
        None => Err(MemberProblem { status, problem: problem.unwrap_or_default(), replay_of }),
    };
    Ok(MemberRecord { position, outcome, replay_of })
}
