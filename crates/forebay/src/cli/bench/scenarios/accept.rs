//! Jobs accepted while nothing works on them: how many, and how long each takes at less than that.

use super::{COUNTED, NO_WORK, loaded, lost};
use crate::cli::bench::Run;
use crate::cli::bench::figures::Figures;
use crate::cli::bench::load;
use crate::cli::bench::schedule::Schedule;
use crate::cli::bench::service::{Service, without_provider};
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// The share of what goes through at most that is sent when nothing else is asked for.
const SHARE: f64 = 0.6;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    run.says("as much as goes through");
    let service = start(&folder).await?;
    let (most, cpu) = loaded(&service.process, service.jobs()?, run).await?;
    let figures = Figures::default()
        .with("per_second", most.per_second())
        .shares("", &most.latency, &[0.5, 0.99, 0.999])
        .with("cpu_us", cpu);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands")]
    let rate = run.args.rate.unwrap_or((most.per_second() * SHARE) as u32).max(1);
    run.says(&format!("{rate} a second, at times of their own"));
    let schedule = Schedule::Random { rate, seed: run.seed };
    let open = load::open(service.jobs()?.again(), run.args.connections, schedule, run.args.span()).await;
    let open = open.map_err(|error| lost(&error))?;
    service.end().await?;
    folder.end().await?;
    let figures = figures
        .with("open_per_second", open.per_second())
        .shares("open_", &open.latency, &[0.5, 0.99, 0.999, 1.0])
        .and(counts(run).await?);
    Ok(figures.drawn(open))
}

async fn start(folder: &Folder) -> Result<Service, CliError> {
    let service = Service::start(folder, NO_WORK, 1).await?;
    service.apply(&without_provider()).await?;
    Ok(service)
}

/// What a job costs a database server, counted apart from the times.
async fn counts(run: &Run<'_>) -> Result<Figures, CliError> {
    let Some(folder) = Folder::make_counting(run.args).await? else { return Ok(Figures::default()) };
    run.says("what it costs the database");
    start(&folder).await?.end().await?;
    let before = folder.counted().await?;
    let service = Service::start(&folder, NO_WORK, 1).await?;
    let target = service.jobs()?;
    let load = load::closed(target, run.args.connections, COUNTED).await.map_err(|error| lost(&error))?;
    service.end().await?;
    let figures = folder.per_job(before, load.answers(), "").await?;
    folder.end().await?;
    Ok(figures)
}
