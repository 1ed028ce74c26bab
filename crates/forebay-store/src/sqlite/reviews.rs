//! Decisions that persons owe.

use async_trait::async_trait;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::time::Millis;

use super::columns::{self, Columns};
use super::transaction::Tx;
use super::{SqliteStore, sql};
use crate::record::{JobRecord, NewReview, ReviewRecord};
use crate::{Reviews, StoreError};

/// How long a person has where the task's word is not at hand.
const DEFAULT_DUE: Millis = Millis::from_secs(72 * 3_600);

#[async_trait]
impl Reviews for SqliteStore {
    async fn review(&self, tenant: i64, job: JobId) -> Result<Option<ReviewRecord>, StoreError> {
        self.read(move |tx| tx.row(sql!("reviews/of_job"), (tenant, job.as_bytes()), review)).await
    }

    async fn open_reviews(&self, tenant: i64, limit: usize) -> Result<Vec<ReviewRecord>, StoreError> {
        self.read(move |tx| tx.rows(sql!("reviews/open"), (tenant, columns::limit(limit)), review)).await
    }
}

fn review(row: &rusqlite::Row<'_>) -> rusqlite::Result<ReviewRecord> {
    let mut c = Columns::of(row);
    Ok(ReviewRecord {
        job_id: c.id()?,
        generation: c.count()?,
        opened_at: c.time()?,
        due_at: c.time()?,
        findings: c.get()?,
        output: c.get()?,
        provenance: c.get()?,
        decided_at: c.maybe_time()?,
        decision: c.get()?,
        decided_by: c.maybe_id()?,
        comment: c.get()?,
    })
}

/// Asks a person, in the transaction that takes the job out of the machines' hands.
pub(super) fn open(tx: &Tx<'_>, record: &JobRecord, review: &NewReview) -> Result<(), StoreError> {
    tx.execute(
        sql!("reviews/insert"),
        (
            record.id.as_bytes(),
            record.job.generation,
            record.tenant,
            tx.now.as_millis(),
            tx.now.after(review.due_in).as_millis(),
            &review.findings,
            &review.output,
            &review.provenance,
        ),
    )?;
    Ok(())
}

/// Asks a person about a job that left no output behind.
pub(super) fn open_without_output(tx: &Tx<'_>, record: &JobRecord) -> Result<(), StoreError> {
    let empty =
        NewReview { due_in: DEFAULT_DUE, findings: b"[]".to_vec(), output: None, provenance: b"{}".to_vec() };
    open(tx, record, &empty)
}

/// A cancelled job needs no decision any more.
pub(super) fn close_cancelled(tx: &Tx<'_>, record: &JobRecord) -> Result<(), StoreError> {
    if record.job.state == State::ReviewRequired {
        let row = (record.id.as_bytes(), record.job.generation, tx.now.as_millis());
        tx.execute(sql!("reviews/close_cancelled"), row)?;
    }
    Ok(())
}
