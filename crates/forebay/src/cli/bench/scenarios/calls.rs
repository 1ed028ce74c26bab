//! Jobs worked off by HTTP calls of a provider that answers at once.

use tokio::time::Instant;

use super::{ALL_ROLES, fill, worked_off};
use crate::cli::bench::Run;
use crate::cli::bench::figures::Figures;
use crate::cli::bench::providers::Stub;
use crate::cli::bench::service::Service;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// Enough jobs to count what each of them takes.
const COUNTED: u32 = 5_000;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    let stub = Stub::start().await?;
    fill(&folder, &stub.definitions(run.args.connections), run.args.jobs, run).await?;
    let service = Service::start(&folder, ALL_ROLES, run.args.connections).await?;
    let began = Instant::now();
    let jobs = service.admin.pending_jobs().await?;
    let (ours, theirs) = (service.process.used()?, stub.0.used()?);
    worked_off(&service.admin, run).await?;
    let took = began.elapsed();
    let ours = service.process.used()?.cpu.saturating_sub(ours.cpu);
    let theirs = stub.0.used()?.cpu.saturating_sub(theirs.cpu);
    service.end().await?;
    stub.0.end().await?;
    folder.end().await?;
    Ok(Figures::default()
        .with("per_second", jobs / took.as_secs_f64())
        .with("cpu_us", ours.as_secs_f64() * 1e6 / jobs)
        .with("provider_cpu_us", theirs.as_secs_f64() * 1e6 / jobs)
        .and(counts(run).await?))
}

/// What a job costs a database server, counted apart from the times.
async fn counts(run: &Run<'_>) -> Result<Figures, CliError> {
    let Some(folder) = Folder::make_counting(run.args).await? else { return Ok(Figures::default()) };
    let stub = Stub::start().await?;
    let jobs = COUNTED.min(run.args.jobs);
    let jobs = fill(&folder, &stub.definitions(run.args.connections), jobs, run).await?;
    let before = folder.counted().await?;
    let service = Service::start(&folder, ALL_ROLES, run.args.connections).await?;
    worked_off(&service.admin, run).await?;
    service.end().await?;
    stub.0.end().await?;
    let figures = folder.per_job(before, jobs, "").await?;
    folder.end().await?;
    Ok(figures)
}
