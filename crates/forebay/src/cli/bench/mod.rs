//! `forebay bench`: how much this machine does, with the whole ledger and nothing left out.
//!
//! Service, simulator and load are processes of their own ([`stage`]), so that what is counted for the service is
//! the service's. In each round every scenario ([`scenarios`]) runs once, and beside them the floor ([`floor`]):
//! the least that any such service could do on this machine. Times differ between machines and with what else
//! runs; the ratio to the floor of the same round does not.

mod caller;
pub(super) mod floor;
mod ledger;
mod load;
mod process;
mod report;
mod scenarios;
mod scratch;
mod stage;
mod start;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::error::CliError;
use super::exit::Exit;
use super::logging::{self, LogArgs};
use super::output::Output;
use super::progress;
use report::{Measured, Report};

/// Arguments of `forebay bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// What to measure [default: all of it]
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    /// How often everything is measured; the table has the medians. `in-flight` and `idle` are measured once
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of load in each scenario
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,
    /// Connections that submit at the same time; also the calls in flight of `calls`
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    connections: u32,
    /// Jobs a second of `paced`
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Jobs that are worked off in `floor`, `ledger` and `calls`
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=5_000_000))]
    jobs: u32,
    /// Calls in flight of `in-flight`
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    in_flight: u32,
    /// Seconds of doing nothing in `idle`
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    idle: u32,
    /// A folder for the databases, on the disk that is to be measured [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Measures on a PostgreSQL server instead, in databases that are made for it: a URL whose user may make some
    #[arg(long, value_name = "postgres://USER@HOST/DATABASE")]
    postgres: Option<String>,
    /// Prints the table in Markdown, as docs/performance.md has it
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    log: LogArgs,
}

impl BenchArgs {
    fn parent(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(std::env::temp_dir)
    }

    fn span(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds))
    }

    fn wants(&self, scenario: Scenario, round: u32) -> bool {
        let once = matches!(scenario, Scenario::InFlight | Scenario::Idle);
        (self.scenarios.is_empty() || self.scenarios.contains(&scenario)) && (round == 1 || !once)
    }
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Scenario {
    /// The least there can be: one narrow row a request over HTTP; rows claimed and completed
    Floor,
    /// Jobs accepted, each connection sending when it has its answer
    Accept,
    /// Jobs accepted at a fixed rate: how long each takes from when it was due
    Paced,
    /// Jobs that do nothing, claimed and completed with the whole ledger, without HTTP
    Ledger,
    /// Jobs worked off by calls of the simulator over HTTP
    Calls,
    /// From submitting a job to its call, 20 jobs a second
    Start,
    /// Memory with many calls in flight
    InFlight,
    /// Memory and processor time with nothing to do
    Idle,
}

impl Scenario {
    fn name(self) -> &'static str {
        match self {
            Scenario::Floor => "floor",
            Scenario::Accept => "accept",
            Scenario::Paced => "paced",
            Scenario::Ledger => "ledger",
            Scenario::Calls => "calls",
            Scenario::Start => "start",
            Scenario::InFlight => "in-flight",
            Scenario::Idle => "idle",
        }
    }

    async fn run(self, args: &BenchArgs) -> Result<Vec<(&'static str, f64)>, CliError> {
        match self {
            Scenario::Floor => scenarios::floor(args).await,
            Scenario::Accept => scenarios::accept(args).await,
            Scenario::Paced => scenarios::paced(args).await,
            Scenario::Ledger => scenarios::ledger(args).await,
            Scenario::Calls => scenarios::calls(args).await,
            Scenario::Start => scenarios::start(args).await,
            Scenario::InFlight => scenarios::in_flight(args).await,
            Scenario::Idle => scenarios::idle(args).await,
        }
    }
}

/// Measures, round after round.
pub async fn run(args: BenchArgs, output: &Output) -> Result<Exit, CliError> {
    logging::start(args.log.log_format, "warn")?;
    if cfg!(debug_assertions) {
        output.note("this is a debug build: its figures say little about a release");
    }
    let mut report = Report::default();
    for round in 1..=args.rounds {
        let mut measured = Vec::new();
        for scenario in Scenario::value_variants().iter().filter(|scenario| args.wants(**scenario, round)) {
            let what = format!("round {round} of {}: {}", args.rounds, scenario.name());
            let spinner = progress::spinner(output, &what);
            let figures = scenario.run(&args).await;
            spinner.finish_and_clear();
            measured.push(Measured { scenario: *scenario, figures: figures? });
        }
        report.add(measured);
    }
    if output.is_json() {
        output.record(&report.record(scenarios::about(&args)))?;
    } else {
        output.table(report.table(args.markdown))?;
    }
    Ok(Exit::Done)
}
