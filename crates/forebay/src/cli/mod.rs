//! The command line of `forebay`.
//!
//! * `serve`, `sim`, `demo` and `migrate` run something in this process; everything else talks HTTP to a
//!   server, by [`client`], at the address and with the key of [`connection`].
//! * [`output`] is the only place that prints: data to standard output, everything said about it to standard
//!   error; [`progress`] draws bars there.
//! * [`exit`] has the exit codes, [`error`] what leads to them.

mod apply;
mod audit;
mod batch;
mod bench;
mod cancel;
mod client;
mod connection;
mod dataset;
mod demo;
mod doctor;
pub mod error;
mod excerpt;
pub mod exit;
mod follow;
mod get;
mod help;
mod jobs;
mod key;
mod letters;
mod logging;
mod migrate;
pub mod output;
mod plan;
pub mod problem;
mod progress;
mod replay;
mod retention;
mod review;
mod revisions;
mod serve;
mod signals;
mod sim;
mod sse;
mod store;
mod submit;
mod table;
mod tenant;
#[cfg(test)]
mod tests;
mod tour;
pub mod values;
mod verify;
mod watch;
mod workers;

use std::future::Future;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::CliError;
use exit::Exit;
use output::Output;
use signals::Signals;

/// LLM work off the request path: durable jobs at the rate that providers and budgets allow
#[derive(Debug, Parser)]
#[command(
    name = "forebay",
    bin_name = "forebay",
    version,
    help_template = help::TEMPLATE,
    before_help = help::COMMANDS,
    after_help = help::OVERVIEW_END,
    subcommand_value_name = "COMMAND"
)]
struct Cli {
    /// Prints JSON, one document a line, for scripts
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the service until SIGTERM or SIGINT; a second one stops it at once
    #[command(after_help = help::SERVE)]
    Serve(serve::ServeArgs),
    /// Shows Forebay at work: service, simulated provider and jobs in one process
    #[command(after_help = help::DEMO)]
    Demo(demo::DemoArgs),
    /// Runs a simulated provider of models, with limits and faults on demand
    #[command(after_help = help::SIM)]
    Sim(sim::SimArgs),
    /// Submits jobs
    #[command(after_help = help::SUBMIT)]
    Submit(submit::SubmitArgs),
    /// Many jobs from one file, and how far they are
    #[command(after_help = help::BATCH)]
    Batch(batch::BatchArgs),
    /// Shows a job
    #[command(after_help = help::GET)]
    Get(get::GetArgs),
    /// Follows events as they happen
    #[command(after_help = help::WATCH)]
    Watch(watch::WatchArgs),
    /// Ends jobs
    #[command(after_help = help::CANCEL)]
    Cancel(cancel::CancelArgs),
    /// Lists jobs, newest first
    #[command(after_help = help::JOBS)]
    Jobs(jobs::JobsArgs),
    /// Jobs that failed, and who deals with them
    #[command(after_help = help::DEAD_LETTERS)]
    DeadLetters(letters::LettersArgs),
    /// Decides what is in doubt: walks through the queue, or does one thing
    #[command(after_help = help::REVIEW)]
    Review(review::ReviewArgs),
    /// Does the work of failed jobs again
    #[command(after_help = help::REPLAY)]
    Replay(replay::ReplayArgs),
    /// Tenants, their limits and budgets
    #[command(after_help = help::TENANT)]
    Tenant(tenant::TenantArgs),
    /// Master data that answers are compared with
    #[command(after_help = help::DATASET)]
    Dataset(dataset::DatasetArgs),
    /// API keys
    #[command(after_help = help::KEY)]
    Key(key::KeyArgs),
    /// Lists the processes of an installation, and who is not heard of any more
    #[command(after_help = help::WORKERS)]
    Workers(workers::WorkersArgs),
    /// Shows how long things are kept, and what was deleted
    #[command(after_help = help::RETENTION)]
    Retention(retention::RetentionArgs),
    /// Checks definitions and makes them the active revision
    #[command(after_help = help::APPLY)]
    Apply(apply::ApplyArgs),
    /// Says what two revisions, or a revision and a file, differ in
    #[command(after_help = help::DIFF)]
    Diff(revisions::DiffArgs),
    /// Makes the definitions of an older revision the active ones again
    #[command(after_help = help::ROLLBACK)]
    Rollback(revisions::RollbackArgs),
    /// Lists revisions, newest first, or prints one
    #[command(after_help = help::REVISIONS)]
    Revisions(revisions::RevisionsArgs),
    /// Lists who changed what, newest first
    #[command(after_help = help::AUDIT)]
    Audit(audit::AuditArgs),
    /// Brings a database to this version's schema
    #[command(after_help = help::MIGRATE)]
    Migrate(migrate::MigrateArgs),
    /// Looks for what is wrong with a server and with its database
    #[command(after_help = help::DOCTOR)]
    Doctor(doctor::DoctorArgs),
    /// Judges whether a store holds what it promises, from its records and from logs
    #[command(after_help = help::VERIFY)]
    Verify(verify::VerifyArgs),
    /// Says what limits allow and what a load needs: capacity, workers, how long a backlog takes
    #[command(after_help = help::PLAN)]
    Plan(plan::PlanArgs),
    /// Measures how much this machine does
    #[command(after_help = help::BENCH)]
    Bench(bench::BenchArgs),
    /// The server that `bench` measures others against
    #[command(hide = true)]
    BenchFloor(bench::floor::FloorArgs),
}

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            Output::usage(&error);
            return if error.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    let output = Output::new(cli.json);
    let ended = run(cli.command, &output).unwrap_or_else(|error| {
        if !matches!(error, CliError::OutputClosed) {
            output.error(&error);
        }
        error.exit()
    });
    ended.into()
}

fn run(command: Command, output: &Output) -> Result<Exit, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::failed("can't start", &error))?;
    let ended = runtime.block_on(dispatch(command, output));
    // What still blocks, such as a read from a terminal, does not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn dispatch(command: Command, output: &Output) -> Result<Exit, CliError> {
    match command {
        Command::Serve(args) => serve::run(args, output).await,
        Command::Demo(args) => demo::run(args, output).await,
        Command::Sim(args) => sim::run(args, output).await,
        Command::Submit(args) => as_client(submit::run(args, output)).await,
        Command::Batch(args) => as_client(batch::run(args, output)).await,
        Command::Get(args) => as_client(get::run(args, output)).await,
        Command::Watch(args) => as_client(watch::run(args, output)).await,
        Command::Cancel(args) => as_client(cancel::run(args, output)).await,
        Command::Jobs(args) => as_client(jobs::run(args, output)).await,
        Command::DeadLetters(args) => as_client(letters::run(args, output)).await,
        Command::Review(args) => review::run(args, output).await,
        Command::Replay(args) => as_client(replay::run(args, output)).await,
        Command::Tenant(args) => as_client(tenant::run(args, output)).await,
        Command::Dataset(args) => as_client(dataset::run(args, output)).await,
        Command::Key(args) => as_client(key::run(args, output)).await,
        Command::Retention(args) => as_client(retention::run(args, output)).await,
        Command::Workers(args) => as_client(workers::run(args, output)).await,
        Command::Apply(args) => as_client(apply::run(args, output)).await,
        Command::Diff(args) => as_client(revisions::diff(args, output)).await,
        Command::Rollback(args) => as_client(revisions::rollback(args, output)).await,
        Command::Revisions(args) => as_client(revisions::list(args, output)).await,
        Command::Audit(args) => as_client(audit::run(args, output)).await,
        // Each migration is one transaction: whoever ends the process leaves a whole database.
        Command::Migrate(args) => migrate::run(args, output).await,
        Command::Doctor(args) => as_client(doctor::run(args, output)).await,
        Command::Verify(args) => verify::run(args, output).await,
        Command::Plan(args) => until_signal(plan::run(args, output)).await,
        Command::Bench(args) => until_signal(bench::run(args, output)).await,
        Command::BenchFloor(args) => until_signal(bench::floor::run(args, output)).await,
    }
}

/// Runs a command that talks to a server: it logs nothing but what is wrong.
async fn as_client(command: impl Future<Output = Result<Exit, CliError>>) -> Result<Exit, CliError> {
    logging::start(logging::LogFormat::Text, "warn")?;
    until_signal(command).await
}

/// Runs a command that leaves nothing half done wherever it is stopped.
async fn until_signal(command: impl Future<Output = Result<Exit, CliError>>) -> Result<Exit, CliError> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        ended = command => ended,
        () = signals.next() => Err(CliError::Interrupted),
    }
}
