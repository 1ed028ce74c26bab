//! Holding a review: one reviewer at a time, for a while.

use forebay_core::id::JobId;
use forebay_core::time::{Millis, Timestamp};
use serde_json::{Value, json};

use super::super::transaction::Tx;
use super::super::{audit, jobs, sql};
use crate::StoreError;
use crate::record::{Actor, AuditAction, ReviewClaim, ReviewRecord, ReviewRefused};

type Answer = Result<ReviewRecord, ReviewRefused>;

/// Gives the review to a key, or prolongs what it has.
pub(super) fn take(
    tx: &Tx<'_>,
    tenant: i64,
    job: JobId,
    span: Millis,
    by: &Actor,
) -> Result<Answer, StoreError> {
    let before = match open(tx, tenant, job)? {
        Ok(review) => review,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Some(held) = held_by_another(&before, by) {
        return Ok(Err(held));
    }
    let after = write(tx, &before, tenant, Some((by, tx.now.after(span))))?;
    // To hold it longer is no change of who holds it.
    if before.entry.claim.is_none() {
        record(tx, tenant, &before, &after, by, AuditAction::ReviewClaim)?;
    }
    Ok(Ok(after))
}

/// Takes the claim away.
pub(super) fn give_back(tx: &Tx<'_>, tenant: i64, job: JobId, by: &Actor) -> Result<Answer, StoreError> {
    let before = match open(tx, tenant, job)? {
        Ok(review) => review,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Some(held) = held_by_another(&before, by) {
        return Ok(Err(held));
    }
    if before.entry.claim.is_none() {
        return Ok(Ok(before));
    }
    let after = write(tx, &before, tenant, None)?;
    record(tx, tenant, &before, &after, by, AuditAction::ReviewRelease)?;
    Ok(Ok(after))
}

/// Refuses whoever comes while another holds the review.
pub(super) fn held_by_another(review: &ReviewRecord, by: &Actor) -> Option<ReviewRefused> {
    let claim = review.entry.claim.as_ref().filter(|claim| Some(claim.by) != by.key)?;
    Some(ReviewRefused::Held(claim.clone()))
}

fn open(tx: &Tx<'_>, tenant: i64, job: JobId) -> Result<Answer, StoreError> {
    let Some(record) = jobs::of_tenant(tx, tenant, job)? else {
        return Ok(Err(ReviewRefused::NoJob));
    };
    let review = super::of_job(tx, tenant, job)?.filter(|review| review.decided.is_none());
    Ok(review.ok_or(ReviewRefused::NotOpen(record.job.state)))
}

fn write(
    tx: &Tx<'_>,
    review: &ReviewRecord,
    tenant: i64,
    claim: Option<(&Actor, Timestamp)>,
) -> Result<ReviewRecord, StoreError> {
    let entry = &review.entry;
    let row = (
        entry.job_id.as_bytes(),
        entry.generation,
        claim.and_then(|(by, _)| by.key.as_ref().map(|key| key.as_bytes())),
        claim.map(|(by, _)| &by.name),
        claim.map(|(_, until)| until.as_millis()),
    );
    tx.execute(sql!("reviews/claim"), row)?;
    super::of_job(tx, tenant, entry.job_id)?.ok_or_else(|| {
        StoreError::Corrupt(format!("the review of {} just written is not there", entry.job_id))
    })
}

fn record(
    tx: &Tx<'_>,
    tenant: i64,
    before: &ReviewRecord,
    after: &ReviewRecord,
    by: &Actor,
    action: AuditAction,
) -> Result<(), StoreError> {
    let shown = |claim: &ReviewClaim| -> Value {
        json!({ "claimed_by": claim.by, "claimed_by_name": claim.name, "claimed_until": claim.until })
    };
    let entry = audit::Entry {
        tenant: Some(tenant),
        by,
        action,
        subject: before.entry.job_id.to_string(),
        before: before.entry.claim.as_ref().map(shown),
        after: after.entry.claim.as_ref().map(shown),
    };
    audit::append(tx, &entry)
}
