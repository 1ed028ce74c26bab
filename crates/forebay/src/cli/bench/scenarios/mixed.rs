//! Jobs accepted and worked on at the same time, so few at a time that none has to wait.

use tokio::time::Instant;

use super::{ALL_ROLES, closed, worked_off};
use crate::cli::bench::Run;
use crate::cli::bench::figures::Figures;
use crate::cli::bench::providers::Stub;
use crate::cli::bench::service::Service;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// Callers, each waiting for its answer.
const CALLERS: u32 = 16;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    let stub = Stub::start().await?;
    let service = Service::start(&folder, ALL_ROLES, run.args.connections).await?;
    service.apply(&stub.definitions(run.args.connections)).await?;
    run.says(&format!("{CALLERS} callers"));
    let load = closed(service.jobs()?, CALLERS, run.args.span()).await?;
    let ended = Instant::now();
    let left = service.admin.pending_jobs().await?;
    worked_off(&service.admin, run).await?;
    let after = ended.elapsed();
    service.end().await?;
    stub.0.end().await?;
    folder.end().await?;
    // What was left when the load ended counts with the time that it took.
    let per_second = load.answers() / (load.took + after).as_secs_f64();
    Ok(Figures::default()
        .with("per_second", per_second)
        .with("accepts_per_second", load.per_second())
        .with("left_jobs", left)
        .shares("", &load.latency, &[0.5, 0.99])
        .drawn(load))
}
