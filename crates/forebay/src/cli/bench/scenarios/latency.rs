//! From when a job is due to be sent to when the provider has its call, few enough a second for each to be alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::{ALL_ROLES, lost, worked_off};
use crate::cli::bench::Run;
use crate::cli::bench::caller::Caller;
use crate::cli::bench::figures::Figures;
use crate::cli::bench::latency::Latency;
use crate::cli::bench::providers::Simulator;
use crate::cli::bench::schedule::{Schedule, pace};
use crate::cli::bench::service::{Service, Tenant};
use crate::cli::bench::stage::Folder;
use crate::cli::client::Ask;
use crate::cli::error::CliError;

/// Jobs a second.
pub(super) const RATE: u32 = 20;

pub(in crate::cli::bench) async fn run(run: &Run<'_>) -> Result<Figures, CliError> {
    let folder = Folder::make(run.args).await?;
    let simulator = Simulator::start(0).await?;
    let service = Service::start(&folder, ALL_ROLES, run.args.connections).await?;
    service.apply(&simulator.definitions(run.args.connections)).await?;
    run.says(&format!("{RATE} jobs a second"));
    let latency = until_call(&service, &service.admin, &simulator, run).await?;
    service.end().await?;
    simulator.end().await?;
    folder.end().await?;
    let figures = Figures::default().shares("", &latency, &[0.5, 0.95, 0.99, 1.0]);
    Ok(Figures { latency: Some(latency), ..figures })
}

/// Hands in jobs of a tenant at an even pace and says how long each took until it was called for. The first few meet
/// empty caches everywhere and do not count.
pub(super) async fn until_call(
    service: &Service,
    tenant: &Tenant,
    simulator: &Simulator,
    run: &Run<'_>,
) -> Result<Latency, CliError> {
    let mut due = pace(Schedule::Even(RATE), run.args.span() * 2).map_err(|error| lost(&error))?;
    let mut caller = Caller::connect(service.jobs_of(tenant)?).await.map_err(|error| lost(&error))?;
    let mut sent = Vec::new();
    while let Some(at) = due.recv().await {
        // The simulator tells the time of day.
        let at = now().saturating_sub(at.elapsed());
        let answer = caller.submit(&format!("latency-{}", sent.len())).await.map_err(|error| lost(&error))?;
        let answer: Value = serde_json::from_slice(answer).map_err(|error| lost(&error))?;
        sent.push((at, answer["job_id"].as_str().unwrap_or_default().to_owned()));
    }
    worked_off(tenant, run).await?;
    let calls = simulator.arrivals().await?;
    let mut latency = Latency::new();
    for (at, job) in sent.iter().skip(sent.len() / 10) {
        let attempt = first_attempt(tenant, job).await?;
        let arrived = calls.get(&attempt).copied();
        let arrived = arrived.ok_or_else(|| CliError::Failed(format!("{attempt} was not called for")))?;
        latency.record(arrived.saturating_sub(*at));
    }
    Ok(latency)
}

async fn first_attempt(tenant: &Tenant, job: &str) -> Result<String, CliError> {
    let attempts = tenant.client.json(Ask::get(&["v1", "jobs", job, "attempts"])).await?;
    let first = attempts.pointer("/data/0/attempt_id").and_then(Value::as_str);
    first.map(str::to_owned).ok_or_else(|| CliError::Failed(format!("{job} has no attempt: {attempts}")))
}

/// Since 1970, as the simulator's log counts it.
#[allow(
    clippy::disallowed_methods,
    reason = "compared with what another process wrote down, to the microsecond"
)]
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
