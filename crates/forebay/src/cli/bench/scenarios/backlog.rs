//! What a claim costs, by how many jobs wait, by how many tenants they are of, and beside jobs that wait behind one
//! ordering key; and how an old snapshot, which keeps a server from forgetting what was deleted, slows it down.

use std::time::Duration;

use forebay_store::StoreError;
use tokio::time::Instant;

use super::{drain, lost};
use crate::cli::bench::Run;
use crate::cli::bench::figures::{Figures, median};
use crate::cli::bench::ledger::Ledger;
use crate::cli::bench::scratch::Server;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;

/// Claims that are timed, in each place.
const CLAIMS: usize = 40;
/// Jobs that wait where the number of tenants is what matters; at least one of each.
const OF_TENANTS: u32 = 20_000;
/// Jobs of one ordering key, unless fewer wait elsewhere.
const OF_ONE_KEY: u32 = 100_000;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let mut places = Vec::new();
    for waiting in &run.args.waiting {
        places.push(Place::fill(format!("claim_us_{waiting}_waiting"), *waiting, 1, run).await?);
    }
    let waiting = places.len();
    for tenants in &run.args.tenants {
        let jobs = OF_TENANTS.min(run.args.jobs).max(*tenants);
        places.push(Place::fill(format!("claim_us_{tenants}_tenants"), jobs, *tenants, run).await?);
    }
    places.extend(beside_a_key(run).await?);
    run.says(&format!("{CLAIMS} claims in each of {} places", places.len()));
    // In turn, so that whatever else the machine does holds up all of them alike.
    for _ in 0..CLAIMS {
        for place in &mut places {
            place.claim().await.map_err(|error| lost(&error))?;
        }
    }
    let (mut costs, mut worked) = (Vec::new(), Vec::new());
    for place in places {
        costs.push((place.figure, median(place.costs)));
        worked.push(median(place.worked));
        drop(place.ledger);
        place.folder.end().await?;
    }
    let ratio = |costs: &[(String, f64)]| match costs {
        [(_, first), .., (_, last)] => last / first,
        _ => 1.0,
    };
    let beside = costs.len() - 2;
    let figures = Figures::default()
        .with("waiting_ratio", ratio(&costs[..waiting]))
        .with("tenants_ratio", ratio(&costs[waiting..beside]))
        .with("key_claim_ratio", ratio(&costs[beside..]))
        .with("key_work_ratio", worked[beside + 1] / worked[beside]);
    let figures = costs.into_iter().fold(figures, |figures, (figure, cost)| figures.with(figure, cost));
    Ok(figures.and(beside_a_snapshot(run).await?))
}

/// A place with few jobs that could all be claimed, and another with many more that wait for one of them.
async fn beside_a_key(run: &Run<'_>) -> Result<[Place; 2], CliError> {
    let (few, most) = (run.args.waiting.iter().min(), run.args.waiting.iter().max());
    let (few, most) = (few.copied().unwrap_or(1), most.copied().unwrap_or(1).min(OF_ONE_KEY));
    let without = Place::fill("claim_us_without_key".to_owned(), few, 1, run).await?;
    let beside = Place::fill("claim_us_beside_key".to_owned(), few, 1, run).await?;
    let says = |done| run.says(&format!("{done} of {most} jobs of one ordering key are there"));
    beside.ledger.accept_in_order(most as usize, says).await.map_err(|error| lost(&error))?;
    beside.folder.settle().await?;
    Ok([without, beside])
}

/// A store with so many jobs waiting, of so many tenants.
struct Place {
    figure: String,
    folder: Folder,
    ledger: Ledger,
    /// Microseconds that each claim took for each job.
    costs: Vec<f64>,
    /// The same of claiming and completing.
    worked: Vec<f64>,
}

impl Place {
    async fn fill(figure: String, jobs: u32, tenants: u32, run: &Run<'_>) -> Result<Self, CliError> {
        let folder = Folder::make(run.args).await?;
        let ledger = Ledger::open(&folder, tenants).await?;
        let says = |done| run.says(&format!("{done} of {jobs} jobs of {tenants} tenants are there"));
        ledger.accept(jobs as usize, says).await.map_err(|error| lost(&error))?;
        folder.settle().await?;
        Ok(Self { figure, folder, ledger, costs: Vec::new(), worked: Vec::new() })
    }

    /// Times a claim. What was claimed is completed, and as many jobs are accepted: so many wait all the time.
    async fn claim(&mut self) -> Result<(), StoreError> {
        let began = Instant::now();
        let claimed = self.ledger.claim().await?;
        let took = began.elapsed();
        self.ledger.complete(&claimed).await?;
        let worked = began.elapsed();
        if let Ok(jobs @ 1..) = u32::try_from(claimed.len()) {
            let each = |span: Duration| span.as_secs_f64() * 1e6 / f64::from(jobs);
            self.costs.push(each(took));
            self.worked.push(each(worked));
        }
        self.ledger.accept(claimed.len(), |_| ()).await.map(drop)
    }
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
