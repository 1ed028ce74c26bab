//! What waits for a pool, and how long its calls take.

use forebay_core::capacity::sizing::Sample;

use super::columns::Columns;
use super::sql;
use super::transaction::Tx;
use crate::StoreError;
use crate::record::{PoolDemand, WaitingJobs};

/// Calls are measured for so many tenants and tasks, those with the most jobs. The others are taken to be like them.
const MEASURED: usize = 20;

pub(super) fn of_pool(tx: &Tx<'_>, pool: &str, task: Option<&str>) -> Result<PoolDemand, StoreError> {
    let mut waiting = tx.rows(sql!("inspect/demand"), (pool, task), waiting_jobs)?;
    for kind in waiting.iter_mut().take(MEASURED) {
        let calls = tx.row(sql!("inspect/recent_calls"), (kind.tenant, &kind.task, pool), sample)?;
        kind.calls = calls.unwrap_or_default();
    }
    let calls = tx.row(sql!("inspect/demand_calls"), (pool, task), |c| {
        Ok((c.maybe_count()?, c.maybe_count()?, c.maybe_time()?))
    })?;
    let (in_flight, of_task, rests_until) = calls.unwrap_or_default();
    Ok(PoolDemand {
        in_flight: in_flight.unwrap_or_default(),
        task_in_flight: task.map(|_| of_task.unwrap_or_default()),
        cooldown_until: rests_until.filter(|until| *until > tx.now),
        waiting,
    })
}

fn waiting_jobs(c: &mut Columns<'_>) -> Result<WaitingJobs, StoreError> {
    Ok(WaitingJobs {
        tenant: c.get()?,
        task: c.get()?,
        jobs: c.count()?,
        since: c.time()?,
        max_in_flight: c.maybe_count()?,
        in_flight: c.count()?,
        calls: Sample::default(),
    })
}

fn sample(c: &mut Columns<'_>) -> Result<Sample, StoreError> {
    Ok(Sample { calls: c.count()?, millis: c.count()?, input_tokens: c.count()?, output_tokens: c.count()? })
}
