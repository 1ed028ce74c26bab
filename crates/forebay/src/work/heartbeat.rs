//! Heartbeats, and what happens to those who lose their job.

use std::time::Duration;

use forebay_core::id::JobId;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::MissedTickBehavior;
use tracing::{debug, info, warn};

use super::Worker;

/// Extends all leases in one transaction, again and again, until the last call is over.
pub(super) async fn beat(worker: Worker) {
    let mut ticks = tokio::time::interval(worker.app.settings.heartbeat.to_duration());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => extend(&worker).await,
            () = worker.hand_back.cancelled() => {
                worker.hands.emptied().await;
                return;
            }
        }
    }
}

async fn extend(worker: &Worker) {
    let held = worker.hands.all();
    if held.is_empty() {
        return;
    }
    match worker.app.store.extend(held.clone(), worker.app.settings.lease).await {
        Ok(extended) => {
            for (held, _) in held.iter().zip(&extended).filter(|(_, lease)| !lease.kept) {
                if worker.hands.lose_below(held.job_id, held.fence + 1) {
                    worker.app.metrics.lease_lost();
                    warn!(job = %held.job_id, "lost the lease; the call is dropped");
                }
            }
        }
        // Leases outlive two missed heartbeats; if the store stays away, others will rescue the jobs.
        Err(error) => warn!(%error, "a heartbeat could not be written"),
    }
}

/// How often it is looked whether jobs in hand were taken by another process, which may have no way to tell.
const LOOK: Duration = Duration::from_millis(800);

/// Drops the calls of jobs that were cancelled, expired or rescued, until the last call is over: at once where that is
/// told, else within a second.
pub(super) async fn watch_taken(worker: Worker) {
    let mut taken = worker.app.store.taken();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            told = taken.recv() => match told {
                Ok(taken) => taken.iter().for_each(|taken| drop_call(&worker, taken.job_id, taken.fence)),
                // What was missed, the next look finds.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            },
            _ = looks.tick() => look(&worker).await,
            () = worker.hand_back.cancelled() => return,
        }
    }
}

async fn look(worker: &Worker) {
    let held = worker.hands.all();
    if held.is_empty() {
        return;
    }
    match worker.app.store.lost(held).await {
        Ok(lost) => lost.iter().for_each(|lost| drop_call(worker, lost.job_id, lost.fence + 1)),
        // The next heartbeat finds it, too, or the next look.
        Err(error) => debug!(%error, "it can't be seen whose the jobs in hand are"),
    }
}

fn drop_call(worker: &Worker, job: JobId, fence: u64) {
    if worker.hands.lose_below(job, fence) {
        info!(%job, "the job was taken; its call is dropped");
    }
}
