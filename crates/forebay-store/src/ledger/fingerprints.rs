//! What successful jobs were about: whoever says the same again is a duplicate.
//!
//! A fingerprint is held by one job, the first that succeeded with it, and never given away. Only jobs that
//! succeed hold one, and these are neither replayed nor run again; so whoever finds a fingerprint held by another
//! job is a duplicate, also when it is the replay of a failed one.

use async_trait::async_trait;
use forebay_core::digest::Digest;
use forebay_core::id::JobId;

use super::transaction::Tx;
use super::{Backend, Ledger, sql};
use crate::record::JobRecord;
use crate::{Fingerprints, StoreError};

#[async_trait]
impl<B: Backend> Fingerprints for Ledger<B> {
    async fn fingerprint_holder(
        &self,
        tenant: i64,
        task: &str,
        fingerprint: Digest,
    ) -> Result<Option<JobId>, StoreError> {
        let task = task.to_owned();
        self.read(move |tx| holder(tx, tenant, &task, fingerprint)).await
    }
}

fn holder(tx: &Tx<'_>, tenant: i64, task: &str, fingerprint: Digest) -> Result<Option<JobId>, StoreError> {
    let row = (tenant, task, fingerprint.as_bytes());
    tx.row(sql!("fingerprints/holder"), row, |c| c.id())
}

/// The other job that holds a fingerprint, if there is one.
pub(super) fn held_by_another(
    tx: &Tx<'_>,
    job: &JobRecord,
    fingerprint: Digest,
) -> Result<Option<JobId>, StoreError> {
    Ok(holder(tx, job.tenant, &job.task, fingerprint)?.filter(|holder| *holder != job.id))
}

/// Takes a fingerprint for a job that succeeds in this transaction. Where another job holds it already, that one
/// keeps it, and is named.
pub(super) fn take(tx: &Tx<'_>, job: &JobRecord, fingerprint: Digest) -> Result<Option<JobId>, StoreError> {
    let row = (job.tenant, &job.task, fingerprint.as_bytes(), job.id.as_bytes(), tx.now.as_millis());
    let taken = tx.execute(sql!("fingerprints/insert"), row)? == 1;
    if taken { Ok(None) } else { held_by_another(tx, job, fingerprint) }
}
