//! What a service costs that has nothing to do, or little, or had much.

use std::time::Duration;

use tokio::time::sleep;

use super::{ALL_ROLES, WARM_UP, latency, lost, worked_off};
use crate::cli::bench::Run;
use crate::cli::bench::figures::{Figures, megabytes};
use crate::cli::bench::load;
use crate::cli::bench::process::Used;
use crate::cli::bench::providers::Simulator;
use crate::cli::bench::schedule::Schedule;
use crate::cli::bench::service::Service;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// Calls in hand at most.
const SLOTS: u32 = 256;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    let simulator = Simulator::start(0).await?;
    let service = Service::start(&folder, ALL_ROLES, SLOTS).await?;
    service.apply(&simulator.definitions(SLOTS)).await?;
    sleep(WARM_UP).await;
    let span = Duration::from_secs(u64::from(run.args.idle));
    run.says("nothing to do");
    let began = service.process.used()?;
    sleep(span).await;
    let rested = service.process.used()?;
    run.says("a few jobs a second");
    let few = load::open(service.jobs()?, 1, Schedule::Even(latency::RATE), span).await;
    few.map_err(|error| lost(&error))?;
    let worked = service.process.used()?;
    let mut done = 0.0;
    while done < f64::from(run.args.jobs) {
        run.says(&format!("{done} of {} jobs at full speed", run.args.jobs));
        let load = load::closed(service.jobs()?.again(), run.args.connections, WARM_UP).await;
        done += load.map_err(|error| lost(&error))?.answers();
        worked_off(&service.admin, run).await?;
    }
    sleep(WARM_UP).await;
    let after = service.process.used()?;
    service.end().await?;
    simulator.end().await?;
    folder.end().await?;
    Ok(Figures::default()
        .with("memory_mb", megabytes(rested.memory))
        .with("cpu_percent", percent(began, rested, span))
        .with(format!("cpu_percent_at_{}_per_second", latency::RATE), percent(rested, worked, span))
        .with("memory_after_jobs_mb", megabytes(after.memory)))
}

/// The share of one processor.
fn percent(before: Used, after: Used, span: Duration) -> f64 {
    after.cpu.saturating_sub(before.cpu).as_secs_f64() / span.as_secs_f64() * 100.0
}
