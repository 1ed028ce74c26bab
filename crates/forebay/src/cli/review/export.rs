//! What persons have decided, as JSON lines.

use bytes::Bytes;
use clap::{Args, ValueEnum};
use forebay_store::{Clock as _, SystemClock};
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::cli::client::{Ask, Client};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::values::When;

/// Which decided reviews.
#[derive(Debug, Clone, Args)]
pub(super) struct ExportArgs {
    /// Only of this task
    #[arg(long)]
    task: Option<String>,
    /// Only decided in this way
    #[arg(long, value_enum)]
    decision: Option<Decided>,
    /// Only decided at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<When>,
    /// Only decided before this time
    #[arg(long, value_name = "TIME")]
    until: Option<When>,
    /// With the text that was read
    #[arg(long)]
    text: bool,
    /// Only what stands behind the line with this cursor
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

/// How a review was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Decided {
    Approve,
    Correct,
    Reject,
    Rerun,
}

impl Decided {
    const fn name(self) -> &'static str {
        match self {
            Decided::Approve => "approve",
            Decided::Correct => "correct",
            Decided::Reject => "reject",
            Decided::Rerun => "rerun",
        }
    }
}

/// Prints the lines as they come.
pub(super) async fn run(client: &Client, args: &ExportArgs, output: &Output) -> Result<(), CliError> {
    let now = SystemClock.now();
    let ago = |when: When| when.before(now);
    let ask = Ask::get(&["v1", "reviews", "corrections"])
        .query("task", args.task.as_deref())
        .query("decision", args.decision.map(Decided::name))
        .query("since", args.since.map(ago))
        .query("until", args.until.map(ago))
        .query("text", args.text.then_some(true))
        .query("cursor", args.after.as_deref());
    let mut body = client.open(&ask).await?.bytes_stream();
    let (mut pending, mut last) = (Vec::new(), None);
    while let Some(chunk) = body.next().await {
        let chunk: Bytes = chunk.map_err(|error| cut(&error, last.as_deref()))?;
        pending.extend_from_slice(&chunk);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let line: Value = serde_json::from_slice(&line)
                .map_err(|error| CliError::Failed(format!("a line is no JSON: {error}")))?;
            output.record(&line)?;
            last = line.get("cursor").and_then(Value::as_str).map(str::to_owned);
        }
    }
    Ok(())
}

fn cut(error: &dyn std::error::Error, last: Option<&str>) -> CliError {
    let fix = match last {
        Some(cursor) => format!("\n  fix: go on with --after {cursor}"),
        None => String::new(),
    };
    CliError::Failed(format!("the export broke off: {error}{fix}"))
}
