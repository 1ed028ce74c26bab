//! Claiming: one loop a pool. A job that becomes claimable while there is room is claimed in the very transaction
//! that makes it so, by the pool's standing claim. Whatever that leaves is claimed when the pool's signal is heard,
//! and the loop looks within a second anyhow: a lost signal costs latency, never a job (I10).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::id::ClaimId;
use forebay_core::time::Timestamp;
use forebay_store::StoreError;
use forebay_store::record::{Claim, ClaimReply, Claimed, StandingClaim, Told, Work};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tracing::{error, warn};

use super::{Worker, execute};
use crate::runtime::{BUILD, random_bytes};

/// How often a pool is looked at when nothing is heard of it, so that a job starts within a second all the same.
const POLL: Duration = Duration::from_millis(800);
/// Jobs that one claim takes at most: a claim holds up other writes for a few milliseconds only.
const BATCH: usize = 64;

/// How long a claim waits for more slots than one where jobs wait: then what it costs is worth sharing.
const GATHERING: Duration = Duration::from_millis(2);

/// Runs a loop for each pool of the active definitions that the process claims from, also for those that a later revision brings. Such a revision
/// may also have raised a limit: all pools are looked at.
pub(super) async fn supervise(worker: Worker) {
    let (mut seen, mut running) = (None, HashSet::new());
    loop {
        let mut activated = std::pin::pin!(worker.app.revisions.activated().notified());
        activated.as_mut().enable();
        let active = worker.app.revisions.active();
        if seen.replace(active.number) != Some(active.number) {
            let pools = active.definitions.pools.keys();
            for pool in pools.filter(|pool| worker.app.settings.pools.includes(pool)) {
                if running.insert(pool.clone()) {
                    worker.claiming.spawn("claim", claim_from(worker.clone(), pool.clone()));
                } else {
                    worker.app.store.pool_signal(pool).notify_one();
                }
            }
        }
        tokio::select! {
            () = activated => {}
            () = tokio::time::sleep(POLL) => {}
            () = worker.app.tasks.stopping().cancelled() => return,
        }
    }
}

/// What a dispatcher does next.
enum Cue {
    /// Hand out what its standing claim has brought.
    Claimed(ClaimReply, Vec<OwnedSemaphorePermit>),
    /// Claim for these slots.
    Claim(Vec<OwnedSemaphorePermit>),
    /// Something may be claimable.
    Look,
}

/// Claims from a pool, and stands by for what becomes claimable.
async fn claim_from(worker: Worker, pool: String) {
    let signal = worker.app.store.pool_signal(&pool);
    let (brought, mut claimed) = mpsc::unbounded_channel();
    let standing: Arc<dyn StandingClaim> =
        Arc::new(Standing { worker: worker.clone(), pool: pool.clone(), brought });
    worker.app.store.stand_by(&pool, Arc::downgrade(&standing));
    let mut pause = Duration::ZERO;
    let mut jobs_wait = false;
    loop {
        let cue = tokio::select! {
            biased;
            () = worker.app.tasks.stopping().cancelled() => break,
            Some((reply, permits)) = claimed.recv() => Cue::Claimed(reply, permits),
            Some(permits) = free_slots(&worker, jobs_wait), if pause.is_zero() => Cue::Claim(permits),
            // A signal that nobody waited for is kept.
            () = signal.notified(), if !pause.is_zero() => Cue::Look,
            () = tokio::time::sleep(pause), if !pause.is_zero() => Cue::Look,
        };
        let was_told = matches!(cue, Cue::Look);
        pause = match cue {
            Cue::Claimed(reply, permits) => hand_out(&worker, &pool, reply, permits).await,
            Cue::Claim(permits) => match claim(&worker, &pool, permits.len()).await {
                Ok(reply) => hand_out(&worker, &pool, reply, permits).await,
                Err(error) => {
                    warn!(%error, pool, "claiming failed");
                    POLL
                }
            },
            Cue::Look => Duration::ZERO,
        };
        jobs_wait = pause.is_zero() && !was_told;
    }
    // A standing claim that was under way brings its jobs all the same.
    drop(standing);
    while let Some((reply, permits)) = claimed.recv().await {
        hand_out(&worker, &pool, reply, permits).await;
    }
}

/// A claim for as many slots as are free when a job becomes claimable.
struct Standing {
    worker: Worker,
    pool: String,
    brought: mpsc::UnboundedSender<(ClaimReply, Vec<OwnedSemaphorePermit>)>,
}

impl StandingClaim for Standing {
    fn has_room(&self) -> bool {
        self.worker.slots.available_permits() > 0
    }

    fn claim(&self) -> Option<(Claim, Told)> {
        let permits = Some(more_slots(&self.worker, BATCH)).filter(|permits| !permits.is_empty())?;
        let claim = new_claim(&self.worker, &self.pool, permits.len())?;
        let brought = self.brought.clone();
        // The dispatcher takes everything before it ends.
        Some((claim, Box::new(move |reply| drop(brought.send((reply, permits))))))
    }
}

/// As many slots as are free, at least one; and where jobs wait, a batch of them if that many are free soon. The semaphore
/// is never closed.
async fn free_slots(worker: &Worker, jobs_wait: bool) -> Option<Vec<OwnedSemaphorePermit>> {
    if jobs_wait {
        let batch = u32::try_from(BATCH.min(worker.app.settings.slots)).ok()?;
        let many = Arc::clone(&worker.slots).acquire_many_owned(batch);
        if let Ok(permits) = tokio::time::timeout(GATHERING, many).await {
            let mut permits = permits.ok()?;
            return Some(std::iter::from_fn(|| permits.split(1)).collect());
        }
    }
    let mut permits = vec![Arc::clone(&worker.slots).acquire_owned().await.ok()?];
    permits.append(&mut more_slots(worker, BATCH - 1));
    Some(permits)
}

/// Slots that are free now.
fn more_slots(worker: &Worker, most: usize) -> Vec<OwnedSemaphorePermit> {
    std::iter::from_fn(|| Arc::clone(&worker.slots).try_acquire_owned().ok()).take(most).collect()
}

async fn claim(worker: &Worker, pool: &str, slots: usize) -> Result<ClaimReply, StoreError> {
    match new_claim(worker, pool, slots) {
        Some(claim) => worker.app.store.claim(claim).await,
        // The active revision has no such pool any more: its jobs wait for one that has.
        None => Ok(ClaimReply::default()),
    }
}

fn new_claim(worker: &Worker, pool: &str, slots: usize) -> Option<Claim> {
    let active = worker.app.revisions.active();
    let definition = active.definitions.pools.get(pool)?;
    Some(Claim {
        id: ClaimId::new(worker.app.store.now(), random_bytes()),
        pool: pool.to_owned(),
        limits: definition.limits,
        prices: worker.app.revisions.prices(),
        slots,
        tasks: worker.app.settings.tasks.set().clone(),
        task_limits: active.task_limits(),
        lease: worker.app.settings.lease,
        worker: worker.app.process.name.clone(),
        build: BUILD,
    })
}

/// Starts a task for each claimed job, with the slot that it fills. Says how long until it is worth looking again.
async fn hand_out(
    worker: &Worker,
    pool: &str,
    reply: ClaimReply,
    permits: Vec<OwnedSemaphorePermit>,
) -> Duration {
    let full = reply.claimed.len() == permits.len();
    let jobs: Vec<_> = reply.claimed.iter().map(|job| (job.clone(), worker.hands.take(job))).collect();
    let works = if reply.work.is_empty() {
        read_work(worker, &reply.claimed).await
    } else {
        reply.work.into_iter().map(Ok).collect()
    };
    for (((claimed, in_hand), work), permit) in jobs.into_iter().zip(works).zip(permits) {
        let worker = worker.clone();
        let calls = worker.calls.clone();
        calls.spawn(async move {
            execute::run(&worker, &claimed, work, &in_hand.lost).await;
            drop((in_hand, permit));
        });
    }
    for (model, revision) in &reply.unpriced {
        if let Err(error) = worker.app.revisions.recall_price(model, *revision).await {
            warn!(%error, pool, model, "a price can't be read");
            return POLL;
        }
    }
    // Lanes without a price were passed by: they are looked at again at once.
    if full || !reply.unpriced.is_empty() { Duration::ZERO } else { until(worker, reply.next) }
}

/// Reads what all of them need in one go; if that fails, one by one, so that one job that can't be read does
/// not hold up the others.
async fn read_work(worker: &Worker, claimed: &[Claimed]) -> Vec<Result<Work, StoreError>> {
    if claimed.is_empty() {
        return Vec::new();
    }
    let ids: Vec<_> = claimed.iter().map(|job| job.job_id).collect();
    if let Ok(works) = worker.app.store.work(ids.clone()).await {
        return works.into_iter().map(Ok).collect();
    }
    let mut works = Vec::with_capacity(ids.len());
    for id in ids {
        let work = worker.app.store.work(vec![id]).await.and_then(|mut works| {
            works.pop().ok_or_else(|| StoreError::Corrupt(format!("{id} has no work")))
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
