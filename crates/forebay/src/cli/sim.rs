//! `forebay sim`: a simulated provider, until a signal ends it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::error::{CliError, chain};
use super::exit::Exit;
use super::logging::{self, LogArgs};
use super::output::Output;
use super::signals::Signals;
use crate::sim::scenario::Scenario;
use crate::sim::{self, SimOptions};

/// Arguments of `forebay sim`.
#[derive(Debug, Clone, Args)]
pub struct SimArgs {
    /// Where it listens; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7121")]
    pub listen: SocketAddr,
    /// What it does: latencies, limits, faults (docs/simulator.md)
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Appends each request to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// How many times faster than written everything runs
    #[arg(long, value_name = "N")]
    pub time_scale: Option<f64>,
    #[command(flatten)]
    log_args: LogArgs,
}

/// Runs the simulator.
pub async fn run(args: SimArgs, output: &Output) -> Result<Exit, CliError> {
    logging::start(args.log_args.log_format, "info")?;
    let scenario = match &args.scenario {
        Some(path) => Scenario::load(path).map_err(|error| {
            let problem = format!("{}: {}", path.display(), chain(&error));
            CliError::usage(problem, "docs/simulator.md lists what a scenario may say")
        })?,
        None => Scenario::default(),
    };
    let options = SimOptions { listen: args.listen, scenario, time_scale: args.time_scale, log: args.log };
    let mut signals = Signals::listen()?;
    let running =
        sim::serve(options).await.map_err(|error| CliError::failed("the simulator can't start", &error))?;
    announce(&running, output)?;
    signals.next().await;
    tokio::select! {
        () = running.shutdown() => Ok(Exit::Done),
        () = signals.next() => Err(CliError::Interrupted),
    }
}

fn announce(running: &sim::SimHandle, output: &Output) -> Result<(), CliError> {
    let (base_url, address) = (running.base_url(), running.address());
    if output.is_json() {
        return output.record(&json!({ "base_url": base_url, "pid": std::process::id() }));
    }
    output.line(&format!("The simulator answers as a provider at {base_url}"))?;
    output.line(&format!("  requests    http://{address}/_sim/requests"))?;
    output.line(&format!("  limits      http://{address}/_sim/limits"))
}
