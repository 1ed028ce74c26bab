//! What is measured, one function a scenario.

use std::sync::Arc;
use std::time::Duration;

use forebay_store::Store;
use forebay_store::sqlite::floor;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::caller::{Target, floor_body};
use super::load::{self, Load};
use super::stage::{self, Floor, Folder, Process, Service, Simulator};
use super::{BenchArgs, ledger, start};
use crate::cli::error::CliError;
use crate::config::StoreUrl;
use crate::runtime::BUILD;
use crate::service;

type Figures = Vec<(&'static str, f64)>;

/// Connections warm up so long before anything counts.
const WARM_UP: Duration = Duration::from_secs(1);
/// How often a condition is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(20);
/// Where no provider is called, none has to be there.
const NO_PROVIDER: &str = "http://127.0.0.1:9/v1";

fn lost(error: &dyn std::error::Error) -> CliError {
    CliError::failed("the load broke off", error)
}

/// What there is below us: one narrow row a request, and rows claimed and completed, by the same load.
pub(super) async fn floor(args: &BenchArgs) -> Result<Figures, CliError> {
    let folder = Folder::make(args).await?;
    let floor = Floor::start(&folder).await?;
    let target = Target::floor(floor.address()?);
    let (load, cpu) = loaded(&floor.process, target, args).await?;
    floor.end().await?;
    let (jobs, database) = (args.jobs as usize, folder.path().join("cycle.db"));
    let result = "y".repeat(ledger::RESULT);
    let cycle = move || floor::cycle(&database, jobs, ledger::BATCH, &floor_body(), &result);
    let took = tokio::task::spawn_blocking(cycle).await.map_err(|error| lost(&error))?;
    let took = took.map_err(|error| lost(&error))?;
    Ok(vec![
        ("accepts_per_second", load.per_second()),
        ("accept_p50_ms", load.millis(0.5)),
        ("accept_p99_ms", load.millis(0.99)),
        ("accept_cpu_us", cpu),
        ("cycles_per_second", f64::from(args.jobs) / took.as_secs_f64()),
    ])
}

/// Jobs accepted while nothing works on them, each connection waiting for its answer.
pub(super) async fn accept(args: &BenchArgs) -> Result<Figures, CliError> {
    let folder = Folder::make(args).await?;
    let service = Service::start(&folder, "api,maintain", 1).await?;
    service.apply(&stage::definitions(NO_PROVIDER, 1)).await?;
    let target = Target::jobs(service.address()?, &service.key);
    let (load, cpu) = loaded(&service.process, target, args).await?;
    service.end().await?;
    folder.end().await?;
    Ok(vec![
        ("per_second", load.per_second()),
        ("p50_ms", load.millis(0.5)),
        ("p99_ms", load.millis(0.99)),
        ("cpu_us", cpu),
    ])
}

/// Closed load on a process, and the processor time that each answer cost it.
async fn loaded(process: &Process, target: Target, args: &BenchArgs) -> Result<(Load, f64), CliError> {
    let warm = load::closed(target.clone(), args.connections, WARM_UP).await;
    warm.map_err(|error| lost(&error))?;
    let before = process.used()?;
    let load = load::closed(target.again(), args.connections, args.span()).await;
    let load = load.map_err(|error| lost(&error))?;
    let cpu = process.used()?.cpu.saturating_sub(before.cpu);
    let micros = cpu.as_secs_f64() * 1e6 / (load.per_second() * load.took.as_secs_f64());
    Ok((load, micros))
}

/// Jobs handed in at a fixed rate, whatever became of those before them.
pub(super) async fn paced(args: &BenchArgs) -> Result<Figures, CliError> {
    let folder = Folder::make(args).await?;
    let service = Service::start(&folder, "api,maintain", 1).await?;
    service.apply(&stage::definitions(NO_PROVIDER, 1)).await?;
    let target = Target::jobs(service.address()?, &service.key);
    let warm = load::closed(target.clone(), args.connections, WARM_UP).await;
    warm.map_err(|error| lost(&error))?;
    let load = load::open(target, args.connections, args.rate, args.span()).await;
    let load = load.map_err(|error| lost(&error))?;
    service.end().await?;
    folder.end().await?;
    Ok(vec![
        ("per_second", load.per_second()),
        ("p50_ms", load.millis(0.5)),
        ("p99_ms", load.millis(0.99)),
        ("p999_ms", load.millis(0.999)),
    ])
}

/// Jobs that do nothing, claimed and completed with the whole ledger.
pub(super) async fn ledger(args: &BenchArgs) -> Result<Figures, CliError> {
    let folder = Folder::make(args).await?;
    let store = open(&folder).await?;
    let (accepted, drained) = ledger::run(store, args.jobs as usize).await.map_err(|error| lost(&error))?;
    folder.end().await?;
    let per_second = |span: Duration| f64::from(args.jobs) / span.as_secs_f64();
    Ok(vec![("accepts_per_second", per_second(accepted)), ("per_second", per_second(drained))])
}

async fn open(folder: &Folder) -> Result<Arc<dyn Store>, CliError> {
    let store = StoreUrl::parse(&folder.store(), None);
    let store = store.map_err(|error| CliError::usage(error.problem, error.fix))?;
    service::open(&store).await.map_err(|error| CliError::failed("the store can't be opened", &error))
}

/// Jobs worked off by calls of the simulator, which answers at once.
pub(super) async fn calls(args: &BenchArgs) -> Result<Figures, CliError> {
    let folder = Folder::make(args).await?;
    let simulator = Simulator::start(0).await?;
    fill(&folder, &simulator.definitions(args.connections), args).await?;
    let service = Service::start(&folder, "api,work,maintain", args.connections).await?;
    let began = tokio::time::Instant::now();
    let pending = service.pending_jobs().await?;
    let before = service.process.used()?;
    while service.pending_jobs().await? > 0 {
        sleep(LOOK).await;
    }
    #[allow(clippy::cast_precision_loss, reason = "fewer jobs than a float can count")]
    let jobs = pending as f64;
    let cpu = service.process.used()?.cpu.saturating_sub(before.cpu);
    let took = began.elapsed();
    service.end().await?;
    simulator.end().await?;
    folder.end().await?;
    Ok(vec![("per_second", jobs / took.as_secs_f64()), ("cpu_us", cpu.as_secs_f64() * 1e6 / jobs)])
}

/// Hands in as many jobs as are asked for at least, with nobody to work on them.
async fn fill(folder: &Folder, definitions: &str, args: &BenchArgs) -> Result<(), CliError> {
    let service = Service::start(folder, "api,maintain", 1).await?;
    service.apply(definitions).await?;
    let target = Target::jobs(service.address()?, &service.key);
    while service.pending_jobs().await? < u64::from(args.jobs) {
        let load = load::closed(target.again(), args.connections, Duration::from_millis(250)).await;
        load.map_err(|error| lost(&error))?;
    }
    service.end().await
}

/// From when a caller sends a job to when the provider has the call.
pub(super) async fn start(args: &BenchArgs) -> Result<Figures, CliError> {
    let folder = Folder::make(args).await?;
    let simulator = Simulator::start(0).await?;
    let service = Service::start(&folder, "api,work,maintain", args.connections).await?;
    service.apply(&simulator.definitions(args.connections)).await?;
    let load = start::run(&service, &simulator, args.span() * 2).await?;
    service.end().await?;
    simulator.end().await?;
    folder.end().await?;
    Ok(vec![("p50_ms", load.millis(0.5)), ("p95_ms", load.millis(0.95)), ("p99_ms", load.millis(0.99))])
}

/// Memory with many calls under way: short ones from a backlog, then all that may be, each long enough to be there
/// at the same time as all others.
pub(super) async fn in_flight(args: &BenchArgs) -> Result<Figures, CliError> {
    let (short, short_peak) = calls_of(args, 50, args.in_flight.saturating_mul(5)).await?;
    let (long, long_peak) = calls_of(args, 5_000, args.in_flight).await?;
    Ok(vec![
        ("calls_of_50_ms", short),
        ("calls_of_50_ms_peak_mb", short_peak),
        ("calls_of_5_s", long),
        ("calls_of_5_s_peak_mb", long_peak),
    ])
}

/// The most calls at the same time, and the most memory.
async fn calls_of(args: &BenchArgs, millis: u32, jobs: u32) -> Result<(f64, f64), CliError> {
    let folder = Folder::make(args).await?;
    let simulator = Simulator::start(millis).await?;
    fill(&folder, &simulator.definitions(args.in_flight), &BenchArgs { jobs, ..args.clone() }).await?;
    let service = Service::start(&folder, "api,work,maintain", args.in_flight).await?;
    while service.pending_jobs().await? > 0 {
        sleep(LOOK).await;
    }
    let peak = service.process.used()?.peak;
    let calls = simulator.most_in_flight().await?;
    service.end().await?;
    simulator.end().await?;
    folder.end().await?;
    #[allow(clippy::cast_precision_loss, reason = "a count of calls")]
    Ok((calls as f64, megabytes(peak)))
}

/// What a service costs that has nothing to do.
pub(super) async fn idle(args: &BenchArgs) -> Result<Figures, CliError> {
    let folder = Folder::make(args).await?;
    let service = Service::start(&folder, "api,work,maintain", 256).await?;
    sleep(WARM_UP).await;
    let began = service.process.used()?;
    let span = Duration::from_secs(u64::from(args.idle));
    sleep(span).await;
    let ended = service.process.used()?;
    service.end().await?;
    folder.end().await?;
    let cpu = ended.cpu.saturating_sub(began.cpu).as_secs_f64() / span.as_secs_f64();
    Ok(vec![
        ("started_mb", megabytes(began.memory)),
        ("memory_mb", megabytes(ended.memory)),
        ("cpu_percent", cpu * 100.0),
    ])
}

#[allow(clippy::cast_precision_loss, reason = "less memory than a float can count")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// What was measured on: the build, the machine, and what was asked for.
pub(super) fn about(args: &BenchArgs) -> Value {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = file("/proc/cpuinfo").lines().find_map(|line| {
        Some(line.strip_prefix("model name")?.trim_start_matches([' ', '\t', ':']).to_owned())
    });
    json!({
        "build": BUILD,
        "is_debug": cfg!(debug_assertions),
        "cpu": cpu,
        "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        "system": file("/proc/sys/kernel/osrelease").trim(),
        "rounds": args.rounds,
        "seconds": args.seconds,
        "connections": args.connections,
        "rate": args.rate,
        "jobs": args.jobs,
    })
}
