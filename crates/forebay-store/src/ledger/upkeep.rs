//! What maintenance does, each time on the row as it is now.

use async_trait::async_trait;
use forebay_core::attempt::Outcome;
use forebay_core::definition::CountTokens;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::{Failure, State};
use forebay_core::lifecycle::{self, Failed};

use super::columns;
use super::settle::{self, Permit};
use super::transaction::Tx;
use super::{Backend, Ledger, Needs, queue, reviews, save, sql};
use crate::record::{AttemptClose, JobRecord, Lapsed, NewReview};
use crate::{StoreError, Upkeep};

#[async_trait]
impl<B: Backend> Upkeep for Ledger<B> {
    async fn lapsed(&self, limit: usize) -> Result<Vec<Lapsed>, StoreError> {
        self.read(move |tx| {
            tx.rows(sql!("upkeep/lapsed"), (tx.now.as_millis(), columns::limit(limit)), |c| {
                Ok(Lapsed { job_id: c.id()?, task: c.get()?, revision: c.count()? })
            })
        })
        .await
    }

    async fn rescue(
        &self,
        job: JobId,
        lost: Failed,
        review: NewReview,
    ) -> Result<Option<JobRecord>, StoreError> {
        self.write("rescue", Needs::job(job), move |tx| rescue(tx, job, &lost, &review)).await
    }

    async fn overdue(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        self.read(move |tx| {
            tx.rows(sql!("upkeep/overdue"), (tx.now.as_millis(), columns::limit(limit)), |c| c.id())
        })
        .await
    }

    async fn expire(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.write("expire", Needs::job(job), move |tx| expire(tx, job)).await
    }

    async fn sweep_grants(&self, limit: usize) -> Result<usize, StoreError> {
        let lapsed = self
            .read(move |tx| {
                tx.rows(sql!("upkeep/lapsed_grants"), (tx.now.as_millis(), columns::limit(limit)), |c| {
                    Ok((c.get()?, c.count()?))
                })
            })
            .await?;
        if lapsed.is_empty() {
            return Ok(0);
        }
        self.write("sweep_grants", Needs::nothing(), move |tx| sweep(tx, &lapsed)).await
    }
}

fn rescue(
    tx: &Tx<'_>,
    job: JobId,
    lost: &Failed,
    review: &NewReview,
) -> Result<Option<JobRecord>, StoreError> {
    let Some(record) = tx.job(job)? else {
        return Ok(None);
    };
    let Ok(change) = lifecycle::rescue(&record.job, &Failed { now: tx.now, ..lost.clone() }) else {
        return Ok(None);
    };
    // The lease of the grant lapsed with the job's: the permit comes back at once.
    let record = close_as_unknown(tx, record, lost.failure.clone(), Permit::Return)?;
    let after = save::save(tx, &record, change)?;
    if after.job.state == State::ReviewRequired {
        reviews::open(tx, &after, review)?;
    }
    Ok(Some(after))
}

fn expire(tx: &Tx<'_>, job: JobId) -> Result<Option<JobRecord>, StoreError> {
    let Some(record) = tx.job(job)? else {
        return Ok(None);
    };
    let Ok(change) = lifecycle::expire(&record.job, tx.now) else {
        return Ok(None);
    };
    let why = Failure::new(FailureClass::Deadline, "the job's deadline passed while the call was running");
    let record = close_as_unknown(tx, record, why, Permit::Keep)?;
    save::save(tx, &record, change).map(Some)
}

/// Closes the attempt of a job that is taken from its owner: its call may have been billed. Gives the record
/// back with what that adds to the job's use.
pub(super) fn close_as_unknown(
    tx: &Tx<'_>,
    record: JobRecord,
    failure: Failure,
    permit: Permit,
) -> Result<JobRecord, StoreError> {
    if record.job.state != State::Running {
        return Ok(record);
    }
    let close = AttemptClose {
        outcome: Outcome::Unknown,
        failure: Some(failure),
        usage: None,
        provider_request_id: None,
        provider_model: None,
        count_tokens: CountTokens::Reserved,
        cooldown: None,
    };
    let used = settle::settle(tx, &record, None, &close, permit)?.unwrap_or_default();
    Ok(record.with_use_of(&used))
}

/// Returns permits whose lease has lapsed still, one row at a time.
fn sweep(tx: &Tx<'_>, lapsed: &[(i64, u64)]) -> Result<usize, StoreError> {
    let mut returned = 0;
    for attempt in lapsed {
        returned += usize::from(queue::return_permit(tx, *attempt, Some(tx.now))?);
    }
    Ok(returned)
}
