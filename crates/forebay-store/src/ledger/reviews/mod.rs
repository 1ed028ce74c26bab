//! Decisions that persons owe: opened with the change that takes a job out of the machines' hands, held for a
//! while by one reviewer, decided once.

mod claim;
mod decide;
mod due;
mod row;

use async_trait::async_trait;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::time::Millis;

use super::columns::{limit, split};
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, Needs, sql};
use crate::record::{
    Actor, Decided, DecidedQuery, DecidedReview, DueReview, HeldBy, JobRecord, NewDecision, NewReview,
    ReviewPage, ReviewQuery, ReviewRecord, ReviewRefused,
};
use crate::{Reviews, StoreError};

#[async_trait]
impl<B: Backend> Reviews for Ledger<B> {
    async fn review(&self, tenant: i64, job: JobId) -> Result<Option<ReviewRecord>, StoreError> {
        self.read(move |tx| of_job(tx, tenant, job)).await
    }

    async fn reviews(&self, tenant: i64, query: ReviewQuery) -> Result<ReviewPage, StoreError> {
        self.read(move |tx| page(tx, tenant, &query)).await
    }

    async fn decided_reviews(
        &self,
        tenant: i64,
        query: DecidedQuery,
    ) -> Result<Vec<DecidedReview>, StoreError> {
        self.read(move |tx| decided(tx, tenant, &query)).await
    }

    async fn claim_review(
        &self,
        tenant: i64,
        job: JobId,
        span: Millis,
        by: Actor,
    ) -> Result<Result<ReviewRecord, ReviewRefused>, StoreError> {
        self.write("claim_review", Needs::job(job), move |tx| claim::take(tx, tenant, job, span, &by)).await
    }

    async fn release_review(
        &self,
        tenant: i64,
        job: JobId,
        by: Actor,
    ) -> Result<Result<ReviewRecord, ReviewRefused>, StoreError> {
        self.write("release_review", Needs::job(job), move |tx| claim::give_back(tx, tenant, job, &by)).await
    }

    async fn decide_review(
        &self,
        decision: NewDecision,
    ) -> Result<Result<Decided, ReviewRefused>, StoreError> {
        self.write("decide_review", Needs::job(decision.job_id), move |tx| decide::decide(tx, &decision))
            .await
    }

    async fn due_reviews(&self, limit: usize) -> Result<Vec<DueReview>, StoreError> {
        self.read(move |tx| due::due(tx, limit)).await
    }

    async fn alert_review(&self, job: JobId, generation: u32) -> Result<bool, StoreError> {
        self.write("alert_review", Needs::job(job), move |tx| due::alert(tx, job, generation)).await
    }

    async fn count_overdue_reviews(&self) -> Result<u64, StoreError> {
        self.read(due::count).await
    }
}

/// The open or latest review of a tenant's job.
fn of_job(tx: &Tx<'_>, tenant: i64, job: JobId) -> Result<Option<ReviewRecord>, StoreError> {
    tx.row(sql!("reviews/of_job"), (tenant, job.as_bytes()), |c| row::record(c, tx.now))
}

fn page(tx: &Tx<'_>, tenant: i64, query: &ReviewQuery) -> Result<ReviewPage, StoreError> {
    let (unclaimed, or_by, only_by) = match &query.held {
        None => (false, None, None),
        Some(HeldBy::Key(key)) => (false, None, Some(key.as_bytes())),
        Some(HeldBy::Nobody) => (true, None, None),
        Some(HeldBy::NobodyOr(key)) => (true, Some(key.as_bytes()), None),
    };
    let mut reviews = tx.rows(
        sql!("reviews/list"),
        params! {
            ":tenant": tenant,
            ":after": query.after,
            ":task": query.task,
            ":class": query.class.map(|class| class.name()),
            ":finding": query.finding,
            ":due_before": query.due_before.map(|at| at.as_millis()),
            ":opened_before": query.opened_before.map(|at| at.as_millis()),
            ":unclaimed": unclaimed,
            ":or_by": or_by,
            ":only_by": only_by,
            ":now": tx.now.as_millis(),
            // One more than the page shows whether there is another page.
            ":limit": limit(query.limit.saturating_add(1)),
        },
        |c| row::entry(c, tx.now),
    )?;
    let more = reviews.len() > query.limit;
    reviews.truncate(query.limit);
    let next = reviews.last().filter(|_| more).map(|review| review.seq);
    Ok(ReviewPage { reviews, next })
}

fn decided(tx: &Tx<'_>, tenant: i64, query: &DecidedQuery) -> Result<Vec<DecidedReview>, StoreError> {
    tx.rows(
        sql!("reviews/decided"),
        params! {
            ":tenant": tenant,
            ":after": query.after,
            ":task": query.task,
            ":decision": query.decision.map(|decision| decision.name()),
            ":since": query.since.map(|at| at.as_millis()),
            ":until": query.until.map(|at| at.as_millis()),
            ":limit": limit(query.limit),
        },
        |c| row::decided(c, tx.now),
    )
}

/// Asks a person, in the transaction that takes the job out of the machines' hands, after its event was written.
pub(super) fn open(tx: &Tx<'_>, record: &JobRecord, review: &NewReview) -> Result<(), StoreError> {
    let (output, output_blob) = review.output.as_ref().map_or((None, None), split);
    let failure = record.job.failure.as_ref();
    tx.execute(
        sql!("reviews/insert"),
        params! {
            ":job_id": record.id.as_bytes(),
            ":generation": record.job.generation,
            ":tenant": record.tenant,
            ":seq": tx.last_event_number()?,
            ":now": tx.now.as_millis(),
            ":due_at": tx.now.after(review.due_in).as_millis(),
            ":due_default": review.due_default.name(),
            ":failure_class": failure.map(|failure| failure.class.name()),
            ":failure_message": failure.map(|failure| &failure.message),
            ":findings": review.findings,
            ":output": output,
            ":output_blob": output_blob,
            ":provenance": review.provenance,
        },
    )?;
    Ok(())
}

/// A cancelled job needs no decision any more.
pub(super) fn close_cancelled(tx: &Tx<'_>, record: &JobRecord) -> Result<(), StoreError> {
    if record.job.state == State::ReviewRequired {
        let row = (record.id.as_bytes(), record.job.generation, tx.now.as_millis());
        tx.execute(sql!("reviews/close_cancelled"), row)?;
    }
    Ok(())
}
