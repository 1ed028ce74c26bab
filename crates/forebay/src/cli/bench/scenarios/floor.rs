//! What there is below us: the least that any such service could do on this machine.

use forebay_store::sqlite::floor as sqlite;

use super::{loaded, lost};
use crate::cli::bench::Run;
use crate::cli::bench::caller::{Target, floor_body};
use crate::cli::bench::figures::Figures;
use crate::cli::bench::floor::postgres;
use crate::cli::bench::ledger::{BATCH, RESULT};
use crate::cli::bench::stage::{Folder, Process};
use crate::cli::error::CliError;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    let bare = match run.args.postgres {
        Some(_) => on_postgres(&folder, run).await?,
        None => on_sqlite(&folder, run).await?,
    };
    run.says("rows over HTTP");
    let place = match run.args.postgres {
        Some(_) => folder.store(),
        None => folder.path().join("floor.db").display().to_string(),
    };
    let process = Process::start(folder.path(), &["bench-floor", &place], &[]).await?;
    let (load, cpu) = loaded(&process, Target::floor(process.address("url")?), run).await?;
    process.end().await?;
    folder.end().await?;
    Ok(Figures::default()
        .with("accepts_per_second", load.per_second())
        .shares("accept_", &load.latency, &[0.5, 0.99])
        .with("accept_cpu_us", cpu)
        .and(bare))
}

/// Rows claimed and completed.
async fn on_sqlite(folder: &Folder, run: &Run<'_>) -> Result<Figures, CliError> {
    run.says("rows claimed and completed");
    let (jobs, database) = (run.args.jobs as usize, folder.path().join("cycle.db"));
    let result = "y".repeat(RESULT);
    let cycle = move || sqlite::cycle(&database, jobs, BATCH, &floor_body(), &result);
    let took = tokio::task::spawn_blocking(cycle).await.map_err(|error| lost(&error))?;
    let took = took.map_err(|error| lost(&error))?;
    Ok(Figures::default().with("cycles_per_second", f64::from(run.args.jobs) / took.as_secs_f64()))
}

/// Rows inserted one by one, rows inserted many at a time, rows claimed and completed.
async fn on_postgres(folder: &Folder, run: &Run<'_>) -> Result<Figures, CliError> {
    let url = folder.store();
    run.says("rows inserted one by one");
    let (single, single_latency) = postgres::single(&url, run.args.span()).await?;
    run.says("rows inserted many at a time");
    let (grouped, grouped_latency) = postgres::grouped(&url, run.args.connections, run.args.span()).await?;
    run.says("rows claimed and completed");
    let took = postgres::cycle(&url, run.args.jobs, folder).await?;
    Ok(Figures::default()
        .with("single_inserts_per_second", single)
        .shares("single_insert_", &single_latency, &[0.5, 0.99])
        .with("grouped_inserts_per_second", grouped)
        .shares("grouped_insert_", &grouped_latency, &[0.5, 0.99])
        .with("cycles_per_second", f64::from(run.args.jobs) / took.as_secs_f64()))
}
