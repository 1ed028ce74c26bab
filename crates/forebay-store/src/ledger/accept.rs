//! Taking jobs in.

use async_trait::async_trait;
use forebay_core::definition::OnFailure;
use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::job::State;
use forebay_core::lifecycle::{Submitted, submit};

use super::access::lane_of;
use super::claim::marks::{Place, SubLane};
use super::columns::{Columns, int, split};
use super::tally::Pending;
use super::transaction::{KeyHolder, Tx};
use super::values::params;
use super::{Backend, Ledger, Needs, ordering, queue, rates, save, sql};
use crate::record::{AcceptRefused, Accepted, JobRecord, JobUsage, NewJob, NewStep, Work};
use crate::{Accept, StoreError};

type Answer = Result<Accepted, AcceptRefused>;

#[async_trait]
impl<B: Backend> Accept for Ledger<B> {
    async fn accept(&self, job: NewJob) -> Result<Answer, StoreError> {
        self.write("accept", needs(&job), move |tx| accept(tx, &job)).await
    }

    async fn accepted_before(
        &self,
        tenant: i64,
        key: String,
        body_digest: Digest,
    ) -> Result<Option<Answer>, StoreError> {
        self.read(move |tx| stands_for(tx, tenant, &key, body_digest)).await
    }
}

/// The key first: a replay of an accepted job passes no admission.
pub fn accept(tx: &Tx<'_>, job: &NewJob) -> Result<Answer, StoreError> {
    if let Some(known) = known(tx, job)? {
        return Ok(known);
    }
    if let Some(refused) = refused(tx, job)? {
        return Ok(Err(refused));
    }
    // Last: what is refused for another reason takes nothing out of a bucket.
    let rates = match rates::take(tx, &job.rate_limits)? {
        Ok(rates) => rates,
        Err(too_fast) => return Ok(Err(AcceptRefused::TooFast(too_fast))),
    };
    insert(tx, job)?;
    Ok(Ok(Accepted { job_id: job.id, state: State::Ready, replayed: false, rates }))
}

/// What the idempotency key stands for already.
pub fn known(tx: &Tx<'_>, job: &NewJob) -> Result<Option<Answer>, StoreError> {
    match &job.idempotency_key {
        Some(key) => stands_for(tx, job.tenant, key, job.body_digest),
        None => Ok(None),
    }
}

/// What a key stands for, to a request with that digest.
fn stands_for(tx: &Tx<'_>, tenant: i64, key: &str, wanted: Digest) -> Result<Option<Answer>, StoreError> {
    let holder = match tx.known_key(tenant, key) {
        Some(known) => known,
        None => tx.row(sql!("accept/find_key"), (tenant, key, tx.now.as_millis()), key_holder)?,
    };
    Ok(holder.map(|KeyHolder { job_id, digest, state, .. }| {
        if digest == wanted {
            // A key outlives its job; what is gone had ended.
            Ok(Accepted {
                job_id,
                state: state.unwrap_or(State::Succeeded),
                replayed: true,
                rates: Vec::new(),
            })
        } else {
            Err(AcceptRefused::KeyReused { job_id })
        }
    }))
}

/// What a key stands for, as it is stored.
pub fn key_holder(c: &mut Columns<'_>) -> Result<KeyHolder, StoreError> {
    Ok(KeyHolder {
        job_id: c.id()?,
        digest: c.digest()?,
        state: c.maybe_word(State::from_name)?,
        expires_at: c.time()?,
    })
}

/// What an acceptance reads for certain.
fn needs(job: &NewJob) -> Needs {
    let keys = job.idempotency_key.iter().map(|key| (job.tenant, key.clone())).collect();
    let pools = job.not_before.is_none().then(|| job.first_step.pool.clone()).into_iter().collect();
    Needs { keys, pending: vec![job.tenant], pools, events: 1, ..Needs::nothing() }
}

/// What speaks against a new job, by guarded counters.
fn refused(tx: &Tx<'_>, job: &NewJob) -> Result<Option<AcceptRefused>, StoreError> {
    if let Some(document) = &job.document
        && tx.row(sql!("documents/exists"), (job.tenant, document.as_bytes()), |_| Ok(()))?.is_none()
    {
        return Ok(Some(AcceptRefused::NoDocument));
    }
    let Some(pending) = pending(tx, job.tenant)? else {
        return Ok(Some(AcceptRefused::NoTenant));
    };
    if let Some(limit) = pending.limit.filter(|limit| pending.of_tenant >= *limit) {
        return Ok(Some(AcceptRefused::TenantFull { limit }));
    }
    if pending.everywhere >= job.max_pending {
        return Ok(Some(AcceptRefused::SystemFull { limit: job.max_pending }));
    }
    tx.tally(|tally| tally.admit(job.tenant, pending.limit, job.max_pending));
    let Some(ceiling) = job.refuse_above_budget else {
        return Ok(None);
    };
    let left = queue::account(tx, job.tenant)?.1.left();
    Ok(left.filter(|left| *left < ceiling).map(|left| AcceptRefused::Budget { left }))
}

/// Jobs that have not ended; `None` where there is no such tenant. The rows are read once in a transaction, and what was
/// noted in it counts besides.
fn pending(tx: &Tx<'_>, tenant: i64) -> Result<Option<Pending>, StoreError> {
    if let Some(known) = tx.tally(|tally| tally.pending(tenant)) {
        return Ok(Some(known));
    }
    let read = tx.row(sql!("accept/load"), [tenant], unfinished)?;
    Ok(tx.tally(|tally| {
        tally.read_pending(tenant, read?);
        tally.pending(tenant)
    }))
}

/// Jobs that have not ended, as they are stored.
pub fn unfinished(c: &mut Columns<'_>) -> Result<Pending, StoreError> {
    Ok(Pending { of_tenant: c.count()?, limit: c.maybe_count()?, everywhere: c.count()? })
}

fn insert(tx: &Tx<'_>, job: &NewJob) -> Result<(), StoreError> {
    let behind_key = ordering::is_behind(tx, job)?;
    let change = submit(&Submitted { now: tx.now, not_before: job.not_before, deadline: job.deadline });
    let record = JobRecord {
        id: job.id,
        seq: tx.next_event_number()?,
        tenant: job.tenant,
        task: job.task.clone(),
        kind: job.kind.to_owned(),
        revision: job.revision,
        job: change.job,
        priority: job.priority,
        pool: job.first_step.pool.clone(),
        ordering_key: job.ordering_key.clone(),
        behind_key,
        keeps_key: job.ordering_key.is_some() && job.on_failure == OnFailure::Block,
        usage: JobUsage::default(),
        created_at: tx.now,
        updated_at: tx.now,
        finished_at: None,
        metadata: job.metadata.clone(),
        correlation_id: job.correlation_id.clone().or_else(|| job.idempotency_key.clone()),
        replay_of: job.replay_of,
        request_digest: job.request_digest,
        document: job.document,
        batch: job.batch,
        replayed_by: None,
    };
    save::append_numbered(tx, &record, EventType::Accepted, record.seq)?;
    tx.know_work(&record.pool, || first_work(job, &record));
    insert_job(tx, &record, lane_of(job.key_id), &job.first_step)?;
    insert_input(tx, job, &record)?;
    tx.tally(|tally| tally.count_pending(job.tenant, 1));
    if let Some(key) = &job.idempotency_key {
        let expires_at = tx.now.after(job.idempotency_ttl);
        let now = tx.now.as_millis();
        let row =
            (job.tenant, key, job.id.as_bytes(), job.body_digest.as_bytes(), expires_at.as_millis(), now);
        tx.write(sql!("accept/insert_key"), row)?;
        let (job_id, digest) = (job.id, job.body_digest);
        tx.know_key(job.tenant, key, KeyHolder { job_id, digest, state: Some(State::Ready), expires_at });
    }
    Ok(())
}

/// What it takes to run the first step.
fn first_work(job: &NewJob, record: &JobRecord) -> Work {
    Work {
        job_id: record.id,
        tenant: record.tenant,
        task: record.task.clone(),
        revision: record.revision,
        generation: record.job.generation,
        step: record.job.step,
        step_kind: job.first_step.kind.to_owned(),
        model: job.first_step.model.clone(),
        output_tokens: job.first_step.output_tokens,
        deadline: record.job.deadline,
        input: job.input.clone(),
        document: job.document,
        journal: Vec::new(),
    }
}

fn insert_job(tx: &Tx<'_>, record: &JobRecord, lane: i64, step: &NewStep) -> Result<(), StoreError> {
    let claimable = !record.behind_key && record.job.available_at <= tx.now;
    tx.write(
        sql!("accept/insert_job"),
        params! {
            ":seq": record.seq,
            ":id": record.id.as_bytes(),
            ":tenant": record.tenant,
            ":lane": lane,
            ":task": record.task,
            ":kind": record.kind,
            ":revision": record.revision,
            ":available_at": record.job.available_at.as_millis(),
            ":deadline": record.job.deadline.as_millis(),
            ":priority": record.priority.name(),
            ":place": save::place(record),
            ":claimable": claimable,
            ":key_first": !record.behind_key,
            ":keeps_key": record.keeps_key,
            ":ordering_key": record.ordering_key,
            ":step_kind": step.kind,
            ":pool": step.pool,
            ":model": step.model,
            ":target": step.target,
            ":step_input": int(step.input_tokens),
            ":step_output": int(step.output_tokens),
            ":now": tx.now.as_millis(),
            ":batch": record.batch.as_ref().map(|batch| batch.as_bytes()),
        },
    )?;
    if claimable {
        let task = record.task.clone();
        let at = Place { place: save::place(record), seq: record.seq };
        tx.note_due(&record.pool, Some((SubLane { tenant: record.tenant, lane, task }, at)));
    }
    Ok(())
}

fn insert_input(tx: &Tx<'_>, job: &NewJob, record: &JobRecord) -> Result<(), StoreError> {
    let (body, blob) = split(&job.input);
    tx.write(
        sql!("accept/insert_input"),
        params! {
            ":job": record.seq,
            ":id": record.id.as_bytes(),
            ":tenant": record.tenant,
            ":body": body,
            ":blob": blob,
            ":request_digest": job.request_digest.as_bytes(),
            ":document": job.document.as_ref().map(|digest| digest.as_bytes()),
            ":idempotency_key": job.idempotency_key,
            ":correlation_id": record.correlation_id,
            ":metadata": job.metadata,
            ":series_key": job.series.as_ref().map(|series| &series.0),
            ":series_version": job.series.as_ref().map(|series| series.1),
            ":not_before": job.not_before.map(|at| at.as_millis()),
            ":key_id": job.key_id.as_ref().map(|key| key.as_bytes()),
            ":replay_of": job.replay_of.as_ref().map(|job| job.as_bytes()),
            ":created_at": tx.now.as_millis(),
        },
    )?;
    Ok(())
}
