//! `forebay bench`: how much this machine does, with the whole ledger and nothing left out.
//!
//! Service, simulator and load are processes of their own ([`stage`]), so that what is counted for the service is
//! the service's. In each round every scenario ([`scenarios`]) runs once, and beside them the floor ([`floor`]):
//! the least that any such service could do on this machine. Times differ between machines and with what else
//! runs; the ratio to the floor of the same round does not, nor do counts of what each job costs a database.

mod about;
mod caller;
mod figures;
pub(super) mod floor;
mod latency;
mod ledger;
mod load;
mod process;
mod providers;
mod report;
mod scenarios;
mod schedule;
mod scratch;
mod service;
mod stage;
mod wire;

/// The statement in `sql/bench/NAME.sql`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/bench/", $name, ".sql"))
    };
}
use sql;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;

use super::error::CliError;
use super::exit::Exit;
use super::logging::{self, LogArgs};
use super::output::{Output, shown};
use super::progress;
use crate::runtime::random_bytes;
use figures::Figures;
use report::{Measured, Report};

/// Arguments of `forebay bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// What to measure [default: all of it]
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    /// How often everything is measured; the table has the medians. `backlog`, `in-flight` and `idle` are measured once
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of load in each part of a scenario; twice that where jobs come one at a time
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,
    /// Connections that submit at the same time; also the calls in flight of `calls`
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    connections: u32,
    /// Jobs a second of the second half of `accept` [default: 0.6 of what the first half did]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Jobs that are worked off in `floor`, `drain`, `backlog`, `calls` and `idle`; of `fairness` 10,000 at most
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=5_000_000))]
    jobs: u32,
    /// How many jobs wait when claims of `backlog` are timed
    #[arg(long, default_values_t = [1_000, 100_000], value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u32).range(100..=5_000_000))]
    waiting: Vec<u32>,
    /// Of how many tenants they are
    #[arg(long, default_values_t = [1, 1_000], value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tenants: Vec<u32>,
    /// Calls in flight of `in-flight`
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    in_flight: u32,
    /// Seconds of doing nothing, and of doing little, in `idle`
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    idle: u32,
    /// Chooses when requests are due that come by chance [default: a new one, which the report names]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
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
        let once = matches!(scenario, Scenario::Backlog | Scenario::InFlight | Scenario::Idle);
        (self.scenarios.is_empty() || self.scenarios.contains(&scenario)) && (round == 1 || !once)
    }
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Scenario {
    /// The least there can be: rows inserted alone, together, and over HTTP; rows claimed and completed
    Floor,
    /// Jobs accepted: as many as go through, then fewer, at times of their own
    Accept,
    /// Jobs that do nothing, claimed and completed with the whole ledger, without HTTP
    Drain,
    /// Jobs accepted and worked on at the same time, with none waiting
    Mixed,
    /// One tenant's single job beside ten thousand of another
    Fairness,
    /// What a claim costs by how many jobs wait, of how many tenants, and beside an old snapshot
    Backlog,
    /// From submitting a job to its call, 20 jobs a second
    Latency,
    /// Jobs worked off by HTTP calls of a provider that answers at once
    Calls,
    /// Memory with many calls in flight
    InFlight,
    /// Memory and processor time with nothing to do, with 20 jobs a second, and after many
    Idle,
}

impl Scenario {
    fn name(self) -> &'static str {
        match self {
            Scenario::Floor => "floor",
            Scenario::Accept => "accept",
            Scenario::Drain => "drain",
            Scenario::Mixed => "mixed",
            Scenario::Fairness => "fairness",
            Scenario::Backlog => "backlog",
            Scenario::Latency => "latency",
            Scenario::Calls => "calls",
            Scenario::InFlight => "in-flight",
            Scenario::Idle => "idle",
        }
    }

    async fn run(self, run: &Run<'_>) -> Result<Figures, CliError> {
        match self {
            Scenario::Floor => scenarios::floor::run(run).await,
            Scenario::Accept => scenarios::accept::run(run).await,
            Scenario::Drain => scenarios::drain::run(run).await,
            Scenario::Mixed => scenarios::mixed::run(run).await,
            Scenario::Fairness => scenarios::fairness::run(run).await,
            Scenario::Backlog => scenarios::backlog::run(run).await,
            Scenario::Latency => scenarios::latency::run(run).await,
            Scenario::Calls => scenarios::calls::run(run).await,
            Scenario::InFlight => scenarios::in_flight::run(run).await,
            Scenario::Idle => scenarios::idle::run(run).await,
        }
    }
}

/// One scenario in one round.
struct Run<'a> {
    args: &'a BenchArgs,
    /// What chance begins with; another one in each round.
    seed: u64,
    /// Which scenario in which round.
    what: String,
    spinner: ProgressBar,
}

impl Run<'_> {
    /// Tells whoever watches what is going on.
    fn says(&self, doing: &str) {
        self.spinner.set_message(shown(&format!("{}: {doing}", self.what)));
    }
}

/// Measures, round after round.
pub async fn run(args: BenchArgs, output: &Output) -> Result<Exit, CliError> {
    logging::start(args.log.log_format, "warn")?;
    if cfg!(debug_assertions) {
        output.note("this is a debug build: its figures say little about a release");
    }
    let seed = args.seed.unwrap_or_else(|| u64::from(u32::from_be_bytes(random_bytes())));
    let about = about::record(&args, seed).await?;
    let mut report = Report::default();
    for round in 1..=args.rounds {
        let mut measured = Vec::new();
        for scenario in Scenario::value_variants().iter().filter(|scenario| args.wants(**scenario, round)) {
            let what = format!("round {round} of {}: {}", args.rounds, scenario.name());
            let spinner = progress::spinner(output, &what);
            let run = Run { args: &args, seed: seed.wrapping_add(u64::from(round)), what, spinner };
            let figures = scenario.run(&run).await;
            run.spinner.finish_and_clear();
            let figures = figures.map_err(|error| error.about(scenario.name()))?;
            measured.push(Measured { scenario: *scenario, figures });
        }
        report.add(measured);
    }
    if output.is_json() {
        output.record(&report.record(about))?;
    } else {
        output.table(report.table(args.markdown))?;
    }
    Ok(Exit::Done)
}
