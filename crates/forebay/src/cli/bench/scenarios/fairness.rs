//! A tenant with one job beside a tenant with ten thousand: how long the one waits for its call.

use std::time::Duration;

use super::latency::until_call;
use super::{ALL_ROLES, NO_WORK, fill_for, lost};
use crate::cli::bench::Run;
use crate::cli::bench::figures::Figures;
use crate::cli::bench::load;
use crate::cli::bench::providers::Simulator;
use crate::cli::bench::schedule::Schedule;
use crate::cli::bench::service::Service;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// Jobs of the tenant who has many, unless fewer are asked for.
const CROWD: u32 = 10_000;
/// Calls at the same time.
const SLOTS: u32 = 32;
/// How long a call takes, in milliseconds.
const CALL_MS: u32 = 100;
/// What a job may wait beyond the call that is under way.
const GRACE_MS: u32 = 100;
/// As many jobs a second as slots and calls let through, so that the crowd stays as large as it is.
const REFILL: u32 = SLOTS * 1_000 / CALL_MS;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    let simulator = Simulator::start(CALL_MS).await?;
    let service = Service::start(&folder, NO_WORK, 1).await?;
    service.apply(&simulator.definitions(SLOTS)).await?;
    let (crowd, single) = (service.tenant("crowd").await?, service.tenant("single").await?);
    let many = CROWD.min(run.args.jobs);
    fill_for(&service, &crowd, many, run).await?;
    service.end().await?;
    let service = Service::start(&folder, ALL_ROLES, SLOTS).await?;
    let (crowd, single) = (service.again(&crowd)?, service.again(&single)?);
    run.says(&format!("one job at a time beside {many}"));
    let refill = load::open(service.jobs_of(&crowd)?, 4, Schedule::Even(REFILL), run.args.span() * 2);
    let (latency, refilled) = tokio::join!(until_call(&service, &single, &simulator, run), refill);
    refilled.map_err(|error| lost(&error))?;
    let crowd = crowd.pending_jobs().await?;
    service.end().await?;
    simulator.end().await?;
    folder.end().await?;
    let latency = latency?;
    let bound = Duration::from_millis(u64::from(CALL_MS + GRACE_MS));
    #[allow(clippy::cast_precision_loss, reason = "some hundreds")]
    let (jobs, late) = (latency.count() as f64, latency.longer_than(bound) as f64);
    let figures = Figures::default()
        .with("jobs", jobs)
        .with("late_jobs", late)
        .shares("", &latency, &[0.5, 0.99, 1.0])
        .with("crowd_jobs", crowd);
    Ok(Figures { latency: Some(latency), ..figures })
}
