//! `forebay demo`: service, simulator and jobs in one process, to see what it is like.

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::logging::{self, LogArgs};
use super::output::Output;
use super::tour;

/// Arguments of `forebay demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Ends after the tour instead of going on until a signal
    #[arg(long)]
    pub exit: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// Runs the demo.
pub async fn run(args: DemoArgs, output: &Output) -> Result<Exit, CliError> {
    logging::start(args.log.log_format, "warn")?;
    tour::run(args.exit, output).await
}
