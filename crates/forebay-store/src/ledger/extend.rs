//! Heartbeats.

use forebay_core::lifecycle;
use forebay_core::time::Millis;

use super::columns::int;
use super::sql;
use super::transaction::Tx;
use crate::StoreError;
use crate::record::{Extended, Held, JobRecord};

/// Prolongs the lease of a job and of its grant together.
pub(super) fn extend(tx: &Tx<'_>, held: &Held, lease: Millis) -> Result<Extended, StoreError> {
    let lost = Extended { job_id: held.job_id, kept: false };
    let Some(record) = tx.job(held.job_id)? else {
        return Ok(lost);
    };
    let Ok(job) = lifecycle::extend(&record.job, held.fence, tx.now, lease) else {
        return Ok(lost);
    };
    let (fence, until) = (int(held.fence), job.lease_until.map(|at| at.as_millis()));
    tx.write(sql!("jobs/extend"), (record.seq, fence, until))?;
    tx.write_if_needed(sql!("claim/extend_grant"), (record.seq, fence, held.attempt_id.as_bytes(), until))?;
    tx.know_job(&JobRecord { job, ..record });
    Ok(Extended { job_id: held.job_id, kept: true })
}
