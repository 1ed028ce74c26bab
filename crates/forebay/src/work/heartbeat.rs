//! Heartbeats, and what happens to those who lose their job.

use tokio::sync::broadcast::error::RecvError;
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

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

/// Drops the calls of jobs that were cancelled or expired, as soon as that is known in this process.
pub(super) async fn watch_taken(worker: Worker) {
    let mut changes = worker.app.store.changes();
    loop {
        let change = tokio::select! {
            change = changes.recv() => change,
            () = worker.app.tasks.stopping().cancelled() => return,
        };
        match change {
            Ok(changed) => {
                for job in changed.iter() {
                    if worker.hands.lose_below(job.job_id, job.fence) {
                        info!(job = %job.job_id, "the job was taken; its call is dropped");
                    }
                }
            }
            // What was missed, the next heartbeat finds.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
