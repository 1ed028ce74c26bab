//! Memory with many calls under way: short ones from a backlog, then all that may be, each long enough to be there at
//! the same time as all others.

use super::{ALL_ROLES, fill, worked_off};
use crate::cli::bench::Run;
use crate::cli::bench::figures::{Figures, megabytes};
use crate::cli::bench::providers::Simulator;
use crate::cli::bench::service::Service;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let (short, short_peak) = calls_of(run, 50, run.args.in_flight.saturating_mul(5)).await?;
    let (long, long_peak) = calls_of(run, 5_000, run.args.in_flight).await?;
    Ok(Figures::default()
        .with("calls_of_50_ms", short)
        .with("calls_of_50_ms_peak_mb", short_peak)
        .with("calls_of_5_s", long)
        .with("calls_of_5_s_peak_mb", long_peak))
}

/// The most calls at the same time, and the most memory.
async fn calls_of(run: &Run<'_>, millis: u32, jobs: u32) -> Result<(f64, f64), CliError> {
    let folder = Folder::make(run.args).await?;
    let simulator = Simulator::start(millis).await?;
    fill(&folder, &simulator.definitions(run.args.in_flight), jobs, run).await?;
    let service = Service::start(&folder, ALL_ROLES, run.args.in_flight).await?;
    worked_off(&service.admin, run).await?;
    let peak = service.process.used()?.peak;
    let calls = simulator.most_in_flight().await?;
    service.end().await?;
    simulator.end().await?;
    folder.end().await?;
    #[allow(clippy::cast_precision_loss, reason = "a count of calls")]
    Ok((calls as f64, megabytes(peak)))
}
