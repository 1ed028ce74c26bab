//! Looking at jobs, and ending them by request. Every statement names the tenant.

use async_trait::async_trait;
use forebay_core::failure::FailureClass;
use forebay_core::id::{BatchId, JobId};
use forebay_core::job::{Failure, State};
use forebay_core::lifecycle;
use serde_json::json;

use super::columns::{job_record, limit};
use super::settle::Permit;
use super::transaction::Tx;
use super::values::{Named, Param as _, params};
use super::{Backend, Ledger, Needs, audit, reviews, save, sql, upkeep};
use crate::record::{Actor, AuditAction, Cancelled, JobPage, JobQuery, JobRecord, ResultRecord};
use crate::{Jobs, StoreError};

#[async_trait]
impl<B: Backend> Jobs for Ledger<B> {
    async fn job(&self, tenant: i64, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.read(move |tx| of_tenant(tx, tenant, job)).await
    }

    async fn jobs(&self, tenant: i64, query: JobQuery) -> Result<JobPage, StoreError> {
        self.read(move |tx| page(tx, tenant, &query)).await
    }

    async fn cancel(&self, tenant: i64, job: JobId, by: Actor) -> Result<Option<Cancelled>, StoreError> {
        self.write("cancel", Needs::job(job), move |tx| cancel(tx, tenant, job, &by)).await
    }

    async fn result(&self, tenant: i64, job: JobId) -> Result<Option<ResultRecord>, StoreError> {
        self.read(move |tx| {
            tx.row(sql!("jobs/result"), (tenant, job.as_bytes()), |c| {
                Ok(ResultRecord { output: c.bytes()?, provenance: c.get()? })
            })
        })
        .await
    }
}

/// The job, if it is the tenant's: another's is as absent as one that never was (I27).
pub(super) fn of_tenant(tx: &Tx<'_>, tenant: i64, job: JobId) -> Result<Option<JobRecord>, StoreError> {
    Ok(tx.job(job)?.filter(|record| record.tenant == tenant))
}

fn page(tx: &Tx<'_>, tenant: i64, query: &JobQuery) -> Result<JobPage, StoreError> {
    let metadata: serde_json::Map<String, serde_json::Value> =
        query.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let metadata = serde_json::Value::Object(metadata).to_string();
    let mut jobs = find(
        tx,
        query.batch,
        params! {
            ":tenant": tenant,
            ":before": query.before.unwrap_or(i64::MAX),
            ":state": query.state.map(State::name),
            ":task": query.task,
            ":created_after": query.created_after.map_or(0, |at| at.as_millis()),
            ":metadata": metadata,
            // One more than the page shows whether there is another page.
            ":limit": limit(query.limit.saturating_add(1)),
        },
    )?;
    let more = jobs.len() > query.limit;
    jobs.truncate(query.limit);
    let next = jobs.last().filter(|_| more).map(|record| record.seq);
    Ok(JobPage { jobs, next })
}

fn find(tx: &Tx<'_>, batch: Option<BatchId>, conditions: &[Named<'_>]) -> Result<Vec<JobRecord>, StoreError> {
    let Some(batch) = batch else {
        return tx.rows(sql!("jobs/list"), conditions, job_record);
    };
    let of_batch = (":batch", batch.as_bytes().value());
    tx.rows(sql!("jobs/list_of_batch"), &[conditions, &[of_batch]].concat()[..], job_record)
}

pub(super) fn cancel(
    tx: &Tx<'_>,
    tenant: i64,
    job: JobId,
    by: &Actor,
) -> Result<Option<Cancelled>, StoreError> {
    let Some(record) = of_tenant(tx, tenant, job)? else {
        return Ok(None);
    };
    let Ok(change) = lifecycle::cancel(&record.job) else {
        let record = Box::new(record);
        let again = record.job.state == State::Cancelled;
        return Ok(Some(if again { Cancelled::Done(record) } else { Cancelled::EndedOtherwise(record) }));
    };
    let why = Failure::new(FailureClass::Cancelled, "the job was cancelled while the call was running");
    let record = upkeep::close_as_unknown(tx, record, why, Permit::Keep)?;
    reviews::close_cancelled(tx, &record)?;
    let after = save::save(tx, &record, change)?;
    let entry = audit::Entry {
        tenant: Some(tenant),
        by,
        action: AuditAction::JobCancel,
        subject: job.to_string(),
        before: Some(json!({ "state": record.job.state.name() })),
        after: Some(json!({ "state": after.job.state.name() })),
    };
    audit::append(tx, &entry)?;
    Ok(Some(Cancelled::Done(Box::new(after))))
}
