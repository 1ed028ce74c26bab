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
    let extended = save::load(tx, held.job_id)?
        .and_then(|record| lifecycle::extend(&record.job, held.fence, tx.now, lease).ok());
    let Some(until) = extended.and_then(|job| job.lease_until) else {
        return Ok(Extended { job_id: held.job_id, kept: false });
    };
    let lease = (held.job_id.as_bytes(), int(held.fence), until.as_millis());
    let rows = tx.execute(sql!("jobs/extend"), lease)?;
    let grant = (held.attempt_id.as_bytes(), held.job_id.as_bytes(), until.as_millis());
    tx.execute(sql!("claim/extend_grant"), grant)?;
    Ok(Extended { job_id: held.job_id, kept: rows == 1 })
}
