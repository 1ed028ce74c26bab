//! From when a caller sends a job to when the provider has the call, as the simulator's log tells it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::caller::{Caller, Target};
use super::load::{self, Load};
use super::stage::{Service, Simulator};
use crate::cli::client::Ask;
use crate::cli::error::CliError;

/// Jobs a second: few enough for each to be alone.
const RATE: u32 = 20;

/// Hands jobs in at an even pace and says how long each took until it was called for.
pub(super) async fn run(service: &Service, simulator: &Simulator, span: Duration) -> Result<Load, CliError> {
    let broke = |error: &dyn std::error::Error| CliError::failed("the load broke off", error);
    let mut due = load::pace(RATE, span).map_err(|error| broke(&error))?;
    let target = Target::jobs(service.address()?, &service.key);
    let mut caller = Caller::connect(target).await.map_err(|error| broke(&error))?;
    let mut sent = Vec::new();
    while due.recv().await.is_some() {
        let at = now();
        let answer = caller.submit(&format!("start-{}", sent.len())).await.map_err(|error| broke(&error))?;
        let answer: Value = serde_json::from_slice(answer).map_err(|error| broke(&error))?;
        sent.push((at, answer["job_id"].as_str().unwrap_or_default().to_owned()));
    }
    while service.pending_jobs().await? > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let calls = arrivals(simulator).await?;
    let mut load = Load::new().map_err(|error| broke(&error))?;
    // The first few meet an empty cache everywhere.
    for (at, job) in sent.iter().skip(sent.len() / 10) {
        let arrived = calls.get(&attempt(service, job).await?).copied().unwrap_or_default();
        load.answered_after(arrived.saturating_sub(*at));
    }
    Ok(load)
}

/// When each attempt arrived at the simulator.
async fn arrivals(simulator: &Simulator) -> Result<HashMap<String, Duration>, CliError> {
    let rows = simulator.requests().await?;
    let arrival = |row: &Value| {
        let at = Duration::try_from_secs_f64(row["started_at_ms"].as_f64()? / 1_000.0).ok()?;
        Some((row["forebay_attempt"].as_str()?.to_owned(), at))
    };
    Ok(rows.iter().filter_map(arrival).collect())
}

/// The first attempt of a job.
async fn attempt(service: &Service, job: &str) -> Result<String, CliError> {
    let attempts = service.client.json(Ask::get(&["v1", "jobs", job, "attempts"])).await?;
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
