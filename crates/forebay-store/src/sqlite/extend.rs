//! Heartbeats.

use forebay_core::lifecycle;
use forebay_core::time::Millis;

use super::columns::int;
use super::transaction::Tx;
use super::{save, sql};
use crate::StoreError;
use crate::record::{Extended, Held};

/// Prolongs the lease of a job and of its grant together.
pub(super) fn extend(tx: &Tx<'_>, held: &Held, lease: Millis) -> Result<Extended, StoreError> {
    let extended = save::load(tx, held.job_id)?.and_then(|record| {
        let job = lifecycle::extend(&record.job, held.fence, tx.now, lease).ok()?;
        Some((record.seq, job.lease_until?))
    });
    let Some((job, until)) = extended else {
        return Ok(Extended { job_id: held.job_id, kept: false });
    };
    let (fence, until) = (int(held.fence), until.as_millis());
    let rows = tx.execute(sql!("jobs/extend"), (job, fence, until))?;
    tx.execute(sql!("claim/extend_grant"), (job, fence, held.attempt_id.as_bytes(), until))?;
    Ok(Extended { job_id: held.job_id, kept: rows == 1 })
}
