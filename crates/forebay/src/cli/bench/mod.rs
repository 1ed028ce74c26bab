//! `forebay bench`: how much this machine does, with the whole ledger and nothing left out.
//!
//! Service, simulator and load run in this process on a temporary store, so that the figures are those of one
//! machine doing all of it. Two scenarios: how fast jobs are accepted while nothing works on them, and how fast
//! those jobs are then worked off through a simulator that answers at once.

mod load;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use comfy_table::{Table, presets};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::error::CliError;
use super::exit::Exit;
use super::logging::{self, LogArgs};
use super::output::Output;
use super::progress;
use crate::config::{Roles, Settings};
use crate::runtime::random_bytes;
use crate::service::{self, Service};
use crate::sim::{self, SimOptions};
use load::{Accepts, Target};

/// Arguments of `forebay bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Jobs to accept, and then to work off
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=5_000_000))]
    pub jobs: u32,
    /// Connections that submit at the same time, each waiting for its answer
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub connections: u32,
    /// Calls in flight while jobs are worked off
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub in_flight: u32,
    /// A folder for the store, on the disk that is to be measured [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<std::path::PathBuf>,
    #[command(flatten)]
    log: LogArgs,
}

/// Runs both scenarios.
pub async fn run(args: BenchArgs, output: &Output) -> Result<Exit, CliError> {
    logging::start(args.log.log_format, "warn")?;
    let parent = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = parent.join(format!("forebay-bench-{:016x}", u64::from_be_bytes(random_bytes())));
    std::fs::create_dir(&folder).map_err(|error| CliError::failed("the folder can't be made", &error))?;
    let measured = measure(&args, &folder, output).await;
    if let Err(error) = std::fs::remove_dir_all(&folder) {
        output.note(&format!("{} could not be removed: {error}", folder.display()));
    }
    show(&measured?, output)?;
    Ok(Exit::Done)
}

struct Measured {
    accepts: Accepts,
    drain_jobs: u32,
    drain_seconds: f64,
}

async fn measure(args: &BenchArgs, folder: &Path, output: &Output) -> Result<Measured, CliError> {
    let sim = sim::serve(SimOptions { listen: loopback(), ..SimOptions::default() })
        .await
        .map_err(|error| CliError::failed("the simulator can't start", &error))?;
    let definitions = definitions(&sim.base_url(), args.in_flight);

    let service = start(folder, &definitions, Roles { work: false, ..Roles::ALL }).await?;
    let accepts = accept(args, &service, output).await?;
    service.stop().await;

    let service = start(folder, &definitions, Roles::ALL).await?;
    let drain_seconds = drain(args, &service, output).await?;
    service.stop().await;
    sim.shutdown().await;
    Ok(Measured { accepts, drain_jobs: args.jobs, drain_seconds })
}

async fn start(folder: &Path, definitions: &str, roles: Roles) -> Result<Service, CliError> {
    let database = folder.join("forebay.db");
    let settings = Settings { listen: loopback(), roles, ..Settings::for_database(database) };
    service::start_with(settings, definitions)
        .await
        .map_err(|error| CliError::failed("the service can't start", &error))
}

async fn accept(args: &BenchArgs, service: &Service, output: &Output) -> Result<Accepts, CliError> {
    let spinner = progress::spinner(output, &format!("accepting {} jobs", args.jobs));
    let key = std::fs::read_to_string(&service.admin_key_file)
        .map_err(|error| CliError::failed("the admin key can't be read", &error))?;
    let target = Target { address: service.addr, key: key.trim().to_owned() };
    let accepts = load::accept(&target, args.jobs, args.connections).await;
    spinner.finish_and_clear();
    accepts.map_err(|error| CliError::failed("submitting failed", &error))
}

async fn drain(args: &BenchArgs, service: &Service, output: &Output) -> Result<f64, CliError> {
    let bar = progress::bar(output, usize::try_from(args.jobs).unwrap_or_default(), "working off");
    let began = Instant::now();
    loop {
        let pending =
            service.pending_jobs().await.map_err(|error| CliError::failed("the store failed", &error))?;
        bar.set_position(u64::from(args.jobs).saturating_sub(pending));
        if pending == 0 {
            bar.finish_and_clear();
            return Ok(began.elapsed().as_secs_f64());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn show(measured: &Measured, output: &Output) -> Result<(), CliError> {
    let record = record(measured);
    if output.is_json() {
        return output.record(&record);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["scenario", "per second", "p50 ms", "p99 ms"]);
    let number = |pointer: &str| record.pointer(pointer).map_or_else(String::new, Value::to_string);
    table.add_row([
        "accept",
        &number("/accept/per_second"),
        &number("/accept/p50_ms"),
        &number("/accept/p99_ms"),
    ]);
    table.add_row(["drain through the simulator", &number("/drain/per_second"), "", ""]);
    output.table(table)
}

fn record(measured: &Measured) -> Value {
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    let accepts = &measured.accepts;
    json!({
        "accept": {
            "jobs": accepts.jobs, "connections": accepts.connections,
            "per_second": (f64::from(accepts.jobs) / accepts.seconds).round(),
            "p50_ms": rounded(accepts.p50_ms), "p99_ms": rounded(accepts.p99_ms),
        },
        "drain": {
            "jobs": measured.drain_jobs,
            "per_second": (f64::from(measured.drain_jobs) / measured.drain_seconds).round(),
        },
    })
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn definitions(base_url: &str, in_flight: u32) -> String {
    format!(
        "[providers.sim]\nbase_url = \"{base_url}\"\n\n\
         [pools.sim]\nprovider = \"sim\"\nmax_in_flight = {in_flight}\n\n\
         [models.small]\npool = \"sim\"\nprovider_model = \"sim\"\ncontext_tokens = 100000\n\
         max_output_tokens = 1000\ninput_micros_per_mtok = 250000\noutput_micros_per_mtok = 2000000\n\n\
         [tasks.chat]\nkind = \"llm\"\nmodel = \"small\"\nmax_output_tokens = 100\ndefault_ttl_ms = 86400000\n"
    )
}
