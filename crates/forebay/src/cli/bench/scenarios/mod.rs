//! What is measured, a file a scenario, and what several of them do.

pub(super) mod accept;
pub(super) mod backlog;
pub(super) mod calls;
pub(super) mod drain;
pub(super) mod fairness;
pub(super) mod floor;
pub(super) mod idle;
pub(super) mod in_flight;
pub(super) mod latency;
pub(super) mod mixed;

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Run;
use super::caller::Target;
use super::load::{self, Load};
use super::service::{Service, Tenant};
use super::stage::{Folder, Process};
use crate::cli::error::CliError;

/// Everything that a service does.
const ALL_ROLES: &str = "api,work,maintain";
/// Taking jobs in, and working on none.
const NO_WORK: &str = "api,maintain";
/// Connections warm up so long before anything counts.
const WARM_UP: Duration = Duration::from_secs(1);
/// Where only is counted how often something happens, a short while is enough.
const COUNTED: Duration = Duration::from_secs(1);
/// Jobs are handed in for so long before they are counted.
const FILLING: Duration = Duration::from_millis(250);
/// How often a condition is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(20);
/// How long no job may end while some are left.
const PATIENCE: Duration = Duration::from_secs(60);

fn lost(error: &dyn std::error::Error) -> CliError {
    CliError::failed("the load broke off", error)
}

/// Load that does not count: connections, caches and statements are there after it.
async fn warm_up(target: Target, connections: u32, span: Duration) -> Result<(), CliError> {
    load::closed(target, connections, WARM_UP.min(span)).await.map(drop).map_err(|error| lost(&error))
}

/// Closed load, after one that does not count.
async fn closed(target: Target, connections: u32, span: Duration) -> Result<Load, CliError> {
    warm_up(target.clone(), connections, span).await?;
    load::closed(target.again(), connections, span).await.map_err(|error| lost(&error))
}

/// The same on a process, and the microseconds of processor time that each answer cost it.
async fn loaded(process: &Process, target: Target, run: &Run<'_>) -> Result<(Load, f64), CliError> {
    let (connections, span) = (run.args.connections, run.args.span());
    warm_up(target.clone(), connections, span).await?;
    let before = process.used()?;
    let load = load::closed(target.again(), connections, span).await.map_err(|error| lost(&error))?;
    let cpu = process.used()?.cpu.saturating_sub(before.cpu);
    let micros = cpu.as_secs_f64() * 1e6 / load.answers();
    Ok((load, micros))
}

/// Hands in as many jobs as are asked for at least, with a service that works on none; says how many there are.
async fn fill(folder: &Folder, definitions: &str, jobs: u32, run: &Run<'_>) -> Result<f64, CliError> {
    let service = Service::start(folder, NO_WORK, 1).await?;
    service.apply(definitions).await?;
    let filled = fill_for(&service, &service.admin, jobs, run).await?;
    service.end().await?;
    folder.settle().await?;
    Ok(filled)
}

async fn fill_for(service: &Service, tenant: &Tenant, jobs: u32, run: &Run<'_>) -> Result<f64, CliError> {
    let target = service.jobs_of(tenant)?;
    loop {
        let pending = tenant.pending_jobs().await?;
        if pending >= f64::from(jobs) {
            return Ok(pending);
        }
        run.says(&format!("{pending} of {jobs} jobs are there"));
        let load = load::closed(target.again(), run.args.connections, FILLING).await;
        load.map_err(|error| lost(&error))?;
    }
}

/// Waits until all jobs of a tenant have ended.
async fn worked_off(tenant: &Tenant, run: &Run<'_>) -> Result<(), CliError> {
    let (mut fewest, mut since) = (f64::INFINITY, Instant::now());
    loop {
        let pending = tenant.pending_jobs().await?;
        if pending < 1.0 {
            return Ok(());
        }
        if pending < fewest {
            (fewest, since) = (pending, Instant::now());
        }
        if since.elapsed() > PATIENCE {
            return Err(CliError::Failed(format!("{pending} jobs don't end")));
        }
        run.says(&format!("{pending} jobs are left"));
        sleep(LOOK).await;
    }
}
