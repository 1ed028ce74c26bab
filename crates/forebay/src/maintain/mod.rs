//! What has to happen without anybody asking: lost workers, passed deadlines, permits that nobody returns, reviews
//! that nobody decides.
//!
//! Each pass reads a page and then acts on one row at a time, on the row as it is then; one bad row never
//! stops the others.

mod due;
mod leader;
pub mod retention;

use forebay_core::attempt::Outcome;
use forebay_core::definition::OnUnknown;
use forebay_core::failure::FailureClass;
use forebay_core::job::Failure;
use forebay_core::lifecycle::Failed;
use forebay_core::retry::RetryPolicy;
use forebay_core::review::ReviewDefault;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::StoreError;
use forebay_store::record::{Lapsed, NewReview};
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use crate::app::App;
use leader::Leader;

/// Rows of one pass.
const PAGE: usize = 500;

/// How long a person has where the task can't be read.
const DEFAULT_REVIEW_DUE: Millis = Millis::from_secs(72 * 3_600);

/// Looks again and again until the process stops, while no other process does.
pub async fn run(app: App) {
    let mut leader = Leader::new(app.clone(), leader::MAINTENANCE);
    let mut ticks = tokio::time::interval(app.settings.reaper_interval.to_duration());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => pass(&app, &mut leader).await,
            () = app.tasks.stopping().cancelled() => break,
        }
    }
    leader.stop().await;
}

/// What a pass does, one after the other.
#[derive(Debug, Clone, Copy)]
enum Duty {
    Rescue,
    Expire,
    DecideWhatIsDue,
    Sweep,
}

async fn pass(app: &App, leader: &mut Leader) {
    for duty in [Duty::Rescue, Duty::Expire, Duty::DecideWhatIsDue, Duty::Sweep] {
        if !leader.leads().await {
            return;
        }
        let done = match duty {
            Duty::Rescue => rescue_lapsed(app).await,
            Duty::Expire => expire_overdue(app).await,
            Duty::DecideWhatIsDue => due::decide_or_alert(app).await,
            Duty::Sweep => app.store.sweep_grants(PAGE).await.map(drop),
        };
        if let Err(error) = done {
            warn!(%error, ?duty, "maintenance could not do its work");
        }
    }
}

/// Takes jobs from workers that were not heard of (I15).
async fn rescue_lapsed(app: &App) -> Result<(), StoreError> {
    for lapsed in app.store.lapsed(PAGE).await? {
        let (lost, review) = lost(app, &lapsed).await;
        match app.store.rescue(lapsed.job_id, lost, review).await {
            Ok(Some(record)) => {
                app.metrics.lease_expired();
                info!(job = %lapsed.job_id, state = record.job.state.name(), "rescued from a lost worker");
            }
            Ok(None) => {}
            Err(error) => warn!(%error, job = %lapsed.job_id, "could not be rescued"),
        }
    }
    Ok(())
}

/// What the job's own task says about such a loss, and what a person sees if it says to ask one. A task that can't be read any more gets the defaults: the
/// next claim will say what is wrong with it.
async fn lost(app: &App, lapsed: &Lapsed) -> (Failed, NewReview) {
    let revision = app.revisions.get(lapsed.revision).await.ok();
    let task = revision.as_ref().and_then(|revision| revision.task(&lapsed.task));
    let review_due = task.map_or(DEFAULT_REVIEW_DUE, |task| task.review_due);
    let review_default = task.map_or(ReviewDefault::None, |task| task.review_default);
    let failed = Failed {
        fence: 0,
        outcome: Outcome::Unknown,
        failure: Failure::new(FailureClass::WorkerLost, "the worker was not heard of until its lease lapsed"),
        hint: None,
        on_unknown: task.map_or(OnUnknown::Retry, |task| task.on_unknown),
        retry: task.map_or_else(RetryPolicy::default, |task| task.retry.clone()),
        attempt_total: task.map_or(Millis::ZERO, |task| task.attempt_total),
        now: Timestamp::from_millis(0),
        random: rand::random(),
    };
    (failed, NewReview::without_output(review_due, review_default))
}

/// Ends jobs that wait for machines past their deadline (I29).
async fn expire_overdue(app: &App) -> Result<(), StoreError> {
    for job in app.store.overdue(PAGE).await? {
        match app.store.expire(job).await {
            Ok(Some(record)) => {
                app.metrics.finished(record.job.state);
                info!(%job, "its deadline passed");
            }
            Ok(None) => {}
            Err(error) => warn!(%error, %job, "could not be expired"),
        }
    }
    Ok(())
}
