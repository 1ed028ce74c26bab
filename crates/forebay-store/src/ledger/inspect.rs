//! Looking behind jobs: attempts, steps, queues, use.

use async_trait::async_trait;
use forebay_core::attempt::{Outcome, Usage};
use forebay_core::fairness::Weight;
use forebay_core::id::JobId;
use forebay_core::job::State;

use super::columns::Columns;
use super::transaction::Tx;
use super::{Backend, Ledger, demand, jobs, ordering, queue, sql, usage};
use crate::record::{
    AttemptRecord, LaneShare, PoolDemand, PoolStatus, Queue, Shares, StepRecord, UsageQuery, UsageRow,
};
use crate::{Inspect, StoreError};

#[async_trait]
impl<B: Backend> Inspect for Ledger<B> {
    async fn attempts(&self, tenant: i64, job: JobId) -> Result<Vec<AttemptRecord>, StoreError> {
        self.read(move |tx| tx.rows(sql!("inspect/attempts"), (tenant, job.as_bytes()), attempt)).await
    }

    async fn steps(&self, tenant: i64, job: JobId) -> Result<Vec<StepRecord>, StoreError> {
        self.read(move |tx| tx.rows(sql!("inspect/steps"), (tenant, job.as_bytes()), step)).await
    }

    async fn queue(&self, tenant: i64, job: JobId) -> Result<Option<Queue>, StoreError> {
        self.read(move |tx| queue_of(tx, tenant, job)).await
    }

    async fn pools(&self) -> Result<Vec<PoolStatus>, StoreError> {
        self.read(|tx| {
            let names = tx.rows(sql!("inspect/pool_names"), (), |c| c.get::<String>())?;
            names.iter().map(|name| queue::pool_status(tx, name)).collect()
        })
        .await
    }

    async fn demand(&self, pool: &str, task: Option<&str>) -> Result<PoolDemand, StoreError> {
        let (pool, task) = (pool.to_owned(), task.map(str::to_owned));
        self.read(move |tx| demand::of_pool(tx, &pool, task.as_deref())).await
    }

    async fn shares(&self) -> Result<Vec<Shares>, StoreError> {
        self.read(|tx| {
            let pools = tx.rows(sql!("inspect/rounds"), (), |c| Ok((c.get::<String>()?, c.count()?)))?;
            pools.into_iter().map(|(pool, largest)| shares_of(tx, pool, largest)).collect()
        })
        .await
    }

    async fn counts(&self, tenant: Option<i64>) -> Result<Vec<(State, u64)>, StoreError> {
        self.read(move |tx| {
            tx.rows(sql!("inspect/counts"), [tenant], |c| Ok((c.word(State::from_name)?, c.count()?)))
        })
        .await
    }

    async fn usage(&self, query: UsageQuery) -> Result<Vec<UsageRow>, StoreError> {
        self.read(move |tx| usage::rows(tx, &query)).await
    }
}

/// Of more lanes than these, the others are not looked at.
const LANES: i64 = 1_000;

fn shares_of(tx: &Tx<'_>, pool: String, largest: u64) -> Result<Shares, StoreError> {
    let lanes = tx.rows(sql!("inspect/shares"), (&pool, LANES), |c| {
        Ok(LaneShare {
            tenant: c.get()?,
            weight: Weight::new(c.count()?).unwrap_or_default(),
            served: c.count()?,
            yielded_at: c.time()?,
        })
    })?;
    Ok(Shares { pool, largest, lanes })
}

fn attempt(c: &mut Columns<'_>) -> Result<AttemptRecord, StoreError> {
    Ok(AttemptRecord {
        id: c.id()?,
        generation: c.count()?,
        step: c.count()?,
        number: c.count()?,
        fence: c.count()?,
        worker: c.get()?,
        build: c.get()?,
        pool: c.get()?,
        model: c.get()?,
        claimed_at: c.time()?,
        ended_at: c.maybe_time()?,
        outcome: c.maybe_word(Outcome::from_name)?,
        failure_class: c.maybe_class()?,
        message: c.get()?,
        usage: reported(c)?,
        reserved_tokens: c.count()?,
        reserved: c.micros()?,
        cost: c.maybe_micros()?,
        uncertain: c.maybe_micros()?,
        overage: c.maybe_micros()?,
        provider_request_id: c.get()?,
        provider_model: c.get()?,
        evidence: c.get()?,
    })
}

fn reported(c: &mut Columns<'_>) -> Result<Option<Usage>, StoreError> {
    let input: Option<u64> = c.maybe_count()?;
    let cached: Option<u64> = c.maybe_count()?;
    let output: Option<u64> = c.maybe_count()?;
    let reasoning: Option<u64> = c.maybe_count()?;
    Ok(input.map(|input_tokens| Usage {
        input_tokens,
        cached_input_tokens: cached.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        reasoning_tokens: reasoning.unwrap_or_default(),
        ..Usage::default()
    }))
}

fn step(c: &mut Columns<'_>) -> Result<StepRecord, StoreError> {
    Ok(StepRecord {
        generation: c.count()?,
        number: c.count()?,
        kind: c.get()?,
        pool: c.get()?,
        model: c.get()?,
        input_tokens: c.count()?,
        output_tokens: c.count()?,
        planned_at: c.time()?,
        finished_at: c.maybe_time()?,
        attempts: c.count()?,
        entry: c.maybe_bytes()?,
    })
}

/// Everything that bears on when a job runs, from one consistent read.
fn queue_of(tx: &Tx<'_>, tenant: i64, job: JobId) -> Result<Option<Queue>, StoreError> {
    let Some(record) = jobs::of_tenant(tx, tenant, job)? else {
        return Ok(None);
    };
    let steps = tx.rows(sql!("inspect/steps"), (tenant, job.as_bytes()), step)?;
    let current =
        |step: &StepRecord| step.generation == record.job.generation && step.number == record.job.step;
    let step = steps.into_iter().rev().find(current);
    let step = step.ok_or_else(|| StoreError::Corrupt(format!("{job} has no current step")))?;
    let ahead = tx.row(sql!("inspect/ahead"), (&record.pool, tenant, job.as_bytes()), |c| c.count())?;
    let lanes = tx.row(sql!("inspect/lanes"), (&record.pool, tenant), |c| Ok((c.count()?, c.count()?)))?;
    let (lanes, keys) = lanes.unwrap_or_default();
    let calls = tx.row(sql!("inspect/calls"), [record.seq], |c| {
        Ok(((c.maybe_count()?.unwrap_or_default(), c.maybe_count()?), c.maybe_count()?.unwrap_or_default()))
    })?;
    let (key_in_flight, task_in_flight) = calls.unwrap_or_default();
    let recent_durations = tx.rows(sql!("inspect/recent_durations"), (tenant, &record.task), |c| c.get())?;
    Ok(Some(Queue {
        ahead: ahead.unwrap_or_default(),
        lanes,
        keys,
        kept_by: ordering::keeper(tx, &record)?,
        step,
        pool: queue::pool_status(tx, &record.pool)?,
        tenant_in_flight: queue::tenant_in_flight(tx, tenant)?,
        key_in_flight,
        task_in_flight,
        account: queue::account(tx, tenant)?.1,
        recent_durations,
        job: record,
    }))
}
