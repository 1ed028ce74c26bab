//! Jobs that do nothing, accepted, claimed and completed with the whole ledger, through the store's verbs.

use std::time::Duration;

use super::lost;
use crate::cli::bench::Run;
use crate::cli::bench::figures::Figures;
use crate::cli::bench::ledger::Ledger;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// Enough jobs to count what each of them takes.
const COUNTED: usize = 5_000;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    let jobs = run.args.jobs as usize;
    let accepted = accept(&folder, jobs, run).await?;
    let drained = drain(&folder, jobs, run).await?;
    folder.end().await?;
    let per_second = |span: Duration| f64::from(run.args.jobs) / span.as_secs_f64();
    Ok(Figures::default()
        .with("accepts_per_second", per_second(accepted))
        .with("per_second", per_second(drained))
        .and(counts(run).await?))
}

/// Accepts so many jobs; says how long that took.
pub(super) async fn accept(folder: &Folder, jobs: usize, run: &Run<'_>) -> Result<Duration, CliError> {
    let ledger = Ledger::open(folder, 1).await?;
    let took = ledger.accept(jobs, |done| run.says(&format!("{done} of {jobs} jobs are there"))).await;
    let took = took.map_err(|error| lost(&error))?;
    folder.settle().await?;
    Ok(took)
}

/// Works all of them off; says how long that took.
pub(super) async fn drain(folder: &Folder, jobs: usize, run: &Run<'_>) -> Result<Duration, CliError> {
    run.says(&format!("{jobs} jobs are worked off"));
    let ledger = Ledger::open(folder, 1).await?;
    ledger.drain(jobs).await.map_err(|error| lost(&error))
}

/// What a job costs a database server, counted apart from the times.
async fn counts(run: &Run<'_>) -> Result<Figures, CliError> {
    let Some(folder) = Folder::make_counting(run.args).await? else { return Ok(Figures::default()) };
    let jobs = COUNTED.min(run.args.jobs as usize);
    drop(Ledger::open(&folder, 1).await?);
    let mut figures = Figures::default();
    for prefix in ["accept_", ""] {
        let before = folder.counted().await?;
        match prefix {
            "" => drain(&folder, jobs, run).await?,
            _ => accept(&folder, jobs, run).await?,
        };
        #[allow(clippy::cast_precision_loss, reason = "some thousands")]
        let jobs = jobs as f64;
        figures = figures.and(folder.per_job(before, jobs, prefix).await?);
    }
    folder.end().await?;
    Ok(figures)
}
