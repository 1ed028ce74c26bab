//! Claiming: one loop a pool. It registers for the pool's signal before it looks, and looks once a second
//! anyhow: a lost signal costs latency, never a job (I10).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::id::ClaimId;
use forebay_core::time::Timestamp;
use forebay_store::record::{Claim, ClaimReply, Claimed, Work};
use tokio::sync::OwnedSemaphorePermit;
use tracing::{error, warn};

use super::{Worker, execute};
use crate::runtime::{BUILD, random_bytes};

/// How often a pool is looked at when nothing is heard of it.
const POLL: Duration = Duration::from_secs(1);
/// Jobs that one claim takes at most: a claim holds up other writes for a few milliseconds only.
const BATCH: usize = 64;

/// Runs a loop for each pool of the active definitions, also for those that a later revision brings.
pub(super) async fn supervise(worker: Worker) {
    let mut running = HashSet::new();
    loop {
        let active = worker.app.revisions.active();
        for pool in active.definitions.pools.keys() {
            if running.insert(pool.clone()) {
                worker.claiming.spawn("claim", claim_from(worker.clone(), pool.clone()));
            }
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            () = worker.app.tasks.stopping().cancelled() => return,
        }
    }
}

async fn claim_from(worker: Worker, pool: String) {
    let signal = worker.app.store.pool_signal(&pool);
    loop {
        let heard = signal.notified();
        tokio::pin!(heard);
        heard.as_mut().enable();
        let Some(permits) = free_slots(&worker).await else { return };
        let asked = permits.len();
        let pause = match claim(&worker, &pool, asked).await {
            Ok(reply) => {
                let full = reply.claimed.len() == asked;
                let next = reply.next;
                hand_out(&worker, reply.claimed, permits).await;
                if full { Duration::ZERO } else { until(&worker, next) }
            }
            Err(error) => {
                warn!(%error, pool, "claiming failed");
                POLL
            }
        };
        if pause.is_zero() {
            continue;
        }
        tokio::select! {
            () = heard => {}
            () = tokio::time::sleep(pause) => {}
            () = worker.app.tasks.stopping().cancelled() => return,
        }
    }
}

/// As many slots as are free, at least one; `None` when it is time to stop.
async fn free_slots(worker: &Worker) -> Option<Vec<OwnedSemaphorePermit>> {
    let first = tokio::select! {
        biased;
        () = worker.app.tasks.stopping().cancelled() => return None,
        permit = Arc::clone(&worker.slots).acquire_owned() => permit.ok()?,
    };
    let more = std::iter::from_fn(|| Arc::clone(&worker.slots).try_acquire_owned().ok());
    Some(std::iter::once(first).chain(more).take(BATCH).collect())
}

async fn claim(worker: &Worker, pool: &str, slots: usize) -> Result<ClaimReply, forebay_store::StoreError> {
    let active = worker.app.revisions.active();
    let Some(definition) = active.definitions.pools.get(pool) else {
        // The active revision has no such pool any more: its jobs wait for one that has.
        return Ok(ClaimReply::default());
    };
    let claim = Claim {
        id: ClaimId::new(worker.app.store.now(), random_bytes()),
        pool: pool.to_owned(),
        limits: definition.limits,
        prices: worker.app.revisions.prices(),
        slots,
        lease: worker.app.settings.lease,
        worker: worker.name.to_string(),
        build: BUILD,
    };
    let mut reply = worker.app.store.claim(claim).await?;
    for (model, revision) in &reply.unpriced {
        worker.app.revisions.recall_price(model, *revision).await?;
        // Their lanes were passed by: look again at once.
        reply.next = Some(worker.app.store.now());
    }
    Ok(reply)
}

/// Starts a task for each claimed job, with the slot that it fills.
async fn hand_out(worker: &Worker, claimed: Vec<Claimed>, permits: Vec<OwnedSemaphorePermit>) {
    if claimed.is_empty() {
        return;
    }
    let jobs: Vec<_> = claimed.iter().map(|job| (job.clone(), worker.hands.take(job))).collect();
    let works = read_work(worker, &claimed).await;
    for (((claimed, in_hand), work), permit) in jobs.into_iter().zip(works).zip(permits) {
        let worker = worker.clone();
        let calls = worker.calls.clone();
        calls.spawn(async move {
            execute::run(&worker, &claimed, work, &in_hand.lost).await;
            drop((in_hand, permit));
        });
    }
}

/// Reads what all of them need in one go; if that fails, one by one, so that one job that can't be read does
/// not hold up the others.
async fn read_work(worker: &Worker, claimed: &[Claimed]) -> Vec<Result<Work, forebay_store::StoreError>> {
    let ids: Vec<_> = claimed.iter().map(|job| job.job_id).collect();
    if let Ok(works) = worker.app.store.work(ids.clone()).await {
        return works.into_iter().map(Ok).collect();
    }
    let mut works = Vec::with_capacity(ids.len());
    for id in ids {
        let work = worker.app.store.work(vec![id]).await.and_then(|mut works| {
            works.pop().ok_or_else(|| forebay_store::StoreError::Corrupt(format!("{id} has no work")))
        });
        if let Err(error) = &work {
            error!(%error, job = %id, "a claimed job can't be read");
        }
        works.push(work);
    }
    works
}

/// How long until it is worth looking again.
fn until(worker: &Worker, next: Option<Timestamp>) -> Duration {
    let Some(next) = next else { return POLL };
    let wait = next.since(worker.app.store.now()).to_duration();
    wait.clamp(Duration::from_millis(1), POLL)
}
