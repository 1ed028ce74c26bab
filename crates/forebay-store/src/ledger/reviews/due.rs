//! Reviews that nobody has decided in time.

use forebay_core::id::JobId;
use forebay_core::review::ReviewDefault;
use serde_json::json;

use super::super::columns::limit;
use super::super::transaction::Tx;
use super::super::{audit, sql};
use crate::StoreError;
use crate::record::{Actor, AuditAction, DueReview};

pub(super) fn due(tx: &Tx<'_>, most: usize) -> Result<Vec<DueReview>, StoreError> {
    tx.rows(sql!("reviews/due"), (tx.now.as_millis(), limit(most)), |c| {
        Ok(DueReview {
            tenant: c.get()?,
            job_id: c.id()?,
            generation: c.count()?,
            state_version: c.count()?,
            due_default: c.word(ReviewDefault::from_name)?,
            has_output: c.get()?,
        })
    })
}

/// Notes that the due time has passed, on the row as it is now.
pub(super) fn alert(tx: &Tx<'_>, job: JobId, generation: u32) -> Result<bool, StoreError> {
    let noted = tx.row(sql!("reviews/alert"), (job.as_bytes(), generation, tx.now.as_millis()), |c| {
        Ok((c.get::<i64>()?, c.time()?))
    })?;
    let Some((tenant, due_at)) = noted else {
        return Ok(false);
    };
    let entry = audit::Entry {
        tenant: Some(tenant),
        by: &Actor::program(),
        action: AuditAction::ReviewOverdue,
        subject: job.to_string(),
        before: None,
        after: Some(json!({ "due_at": due_at, "generation": generation })),
    };
    audit::append(tx, &entry)?;
    Ok(true)
}

pub(super) fn count(tx: &Tx<'_>) -> Result<u64, StoreError> {
    let found = tx.row(sql!("reviews/count_overdue"), [tx.now.as_millis()], |c| c.get::<i64>())?;
    Ok(found.unwrap_or_default().unsigned_abs())
}
