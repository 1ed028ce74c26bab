//! What the process logs: to standard error, as FOREBAY_LOG filters it.

use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use super::error::CliError;

/// The variable that filters the log.
const LOG_VARIABLE: &str = "FOREBAY_LOG";

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How a command that keeps running logs.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// How log lines are written to standard error (what is logged: FOREBAY_LOG, default info)
    #[arg(long, value_enum, default_value_t, env = "FOREBAY_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// Starts the log. What is logged is what FOREBAY_LOG says, `info` or `forebay=debug,warn`, else `default`.
///
/// # Errors
///
/// When FOREBAY_LOG is no filter.
pub fn start(format: LogFormat, default: &str) -> Result<(), CliError> {
    let filter = std::env::var(LOG_VARIABLE).ok().filter(|text| !text.is_empty());
    let filter = filter.as_deref().unwrap_or(default);
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        let fix = "write a level (error, warn, info, debug, trace) or a list like forebay=debug,warn";
        CliError::usage(format!("{LOG_VARIABLE}: `{filter}` is no filter: {error}"), fix)
    })?;
    let has_color =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // A line that can't be written is lost. To say so would be another line, and a panic where it can't be
        // written either: a full disk would end whatever task has something to say.
        .log_internal_errors(false);
    let started = match format {
        LogFormat::Text => builder.with_ansi(has_color).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| CliError::Failed(format!("can't start the log: {error}")))
}
