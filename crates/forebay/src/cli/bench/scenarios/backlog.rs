//! What a claim costs, by how many jobs wait and by how many tenants they are of; and how an old snapshot, which keeps a
//! server from forgetting what was deleted, slows it down.

use std::time::Duration;

use tokio::time::Instant;

use super::{drain, lost};
use crate::cli::bench::Run;
use crate::cli::bench::figures::{Figures, median};
use crate::cli::bench::ledger::{BATCH, Ledger};
use crate::cli::bench::scratch::Server;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// Claims that are timed, in each place.
const CLAIMS: usize = 40;
/// Jobs that wait where the number of tenants is what matters; at least one of each.
const OF_TENANTS: u32 = 20_000;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let waiting = by_waiting(run).await?;
    let tenants = by_tenants(run).await?;
    let ratio = |costs: &[(u32, f64)]| match costs {
        [(_, first), .., (_, last)] => last / first,
        _ => 1.0,
    };
    let figures =
        Figures::default().with("waiting_ratio", ratio(&waiting)).with("tenants_ratio", ratio(&tenants));
    let figures = waiting
        .iter()
        .fold(figures, |figures, (jobs, cost)| figures.with(format!("claim_us_{jobs}_waiting"), *cost));
    let figures = tenants
        .iter()
        .fold(figures, |figures, (many, cost)| figures.with(format!("claim_us_{many}_tenants"), *cost));
    Ok(figures.and(beside_a_snapshot(run).await?))
}

/// Microseconds a claimed job, with more and more jobs of one tenant.
async fn by_waiting(run: &Run<'_>) -> Result<Vec<(u32, f64)>, CliError> {
    let folder = Folder::make(run.args).await?;
    let mut sizes = run.args.waiting.clone();
    sizes.sort_unstable();
    let (mut there, mut costs) = (0, Vec::new());
    for waiting in sizes {
        drain::accept(&folder, (waiting - there) as usize, run).await?;
        there = waiting;
        costs.push((waiting, claims(&folder, 1, run).await?));
    }
    folder.end().await?;
    Ok(costs)
}

/// Microseconds a claimed job, with more and more tenants that have jobs.
async fn by_tenants(run: &Run<'_>) -> Result<Vec<(u32, f64)>, CliError> {
    let mut costs = Vec::new();
    for tenants in &run.args.tenants {
        let folder = Folder::make(run.args).await?;
        run.says(&format!("{tenants} tenants"));
        let ledger = Ledger::open(&folder, *tenants).await?;
        let jobs = OF_TENANTS.min(run.args.jobs).max(*tenants) as usize;
        let filled = ledger.accept(jobs, |done| run.says(&format!("{done} of {jobs} jobs are there"))).await;
        filled.map_err(|error| lost(&error))?;
        drop(ledger);
        folder.settle().await?;
        costs.push((*tenants, claims(&folder, *tenants, run).await?));
        folder.end().await?;
    }
    Ok(costs)
}

/// The microseconds that a claim takes for each job, in the median. What was claimed is completed, and as many jobs are
/// accepted: so many wait all the time.
async fn claims(folder: &Folder, tenants: u32, run: &Run<'_>) -> Result<f64, CliError> {
    run.says(&format!("{CLAIMS} claims"));
    let ledger = Ledger::open(folder, tenants).await?;
    let mut costs = Vec::new();
    for _ in 0..CLAIMS {
        let began = Instant::now();
        let claimed = ledger.claim().await.map_err(|error| lost(&error))?;
        let took = began.elapsed();
        let jobs = claimed.len();
        if jobs > 0 {
            costs.push(took.as_secs_f64() * 1e6 / f64::from(u32::try_from(jobs).unwrap_or(u32::MAX)));
        }
        ledger.complete(&claimed).await.map_err(|error| lost(&error))?;
        ledger.accept(jobs, |_| ()).await.map_err(|error| lost(&error))?;
        debug_assert!(jobs <= BATCH);
    }
    Ok(median(costs))
}

/// Jobs worked off with and without a transaction beside it that has begun before them and does nothing.
async fn beside_a_snapshot(run: &Run<'_>) -> Result<Figures, CliError> {
    if run.args.postgres.is_none() {
        return Ok(Figures::default());
    }
    let jobs = run.args.jobs as usize;
    let mut speeds = Vec::new();
    for is_old in [false, true] {
        let folder = Folder::make(run.args).await?;
        drain::accept(&folder, jobs, run).await?;
        let snapshot = Server::connect(&folder.store()).await?;
        if is_old {
            snapshot.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await?;
        }
        let took: Duration = drain::drain(&folder, jobs, run).await?;
        speeds.push(f64::from(run.args.jobs) / took.as_secs_f64());
        drop(snapshot);
        folder.end().await?;
    }
    let [without, beside] = speeds[..] else { return Ok(Figures::default()) };
    Ok(Figures::default()
        .with("drain_per_second", without)
        .with("drain_beside_snapshot_per_second", beside)
        .with("snapshot_ratio", beside / without))
}
