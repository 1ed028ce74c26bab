//! `forebay retention`: how long things are kept, and what was deleted.

use clap::Args;
use serde_json::Value;

use super::client::Ask;
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::{self, Column, Show};

/// Arguments of `forebay retention`.
#[derive(Debug, Clone, Args)]
pub struct RetentionArgs {
    #[command(flatten)]
    connection: Connection,
}

const COLUMNS: [Column; 3] = [
    ("WHAT", "/what", Show::Plain),
    ("KEPT FOR", "/kept_for", Show::Plain),
    ("DELETED", "/deleted", Show::Plain),
];

/// What is kept for how long, and what is counted under it.
const LINES: [(&str, &str); 6] = [
    ("jobs", "results_ms"),
    ("attempts", "results_ms"),
    ("events", "results_ms"),
    ("batches", "results_ms"),
    ("documents", "documents_ms"),
    ("idempotency_keys", "idempotency_keys_ms"),
];

/// Shows the rules in force and the totals.
pub async fn run(args: RetentionArgs, output: &Output) -> Result<Exit, CliError> {
    let answer = args.connection.client()?.json(Ask::get(&["v1", "retention"])).await?;
    if output.is_json() {
        output.record(&answer)?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Value> = LINES
        .iter()
        .map(|(what, rule)| {
            let kept_for = span(answer[*rule].as_i64().unwrap_or_default());
            serde_json::json!({ "what": what, "kept_for": kept_for, "deleted": answer["deleted"][*what] })
        })
        .collect();
    output.table(table::of(&rows, &COLUMNS))?;
    let failed = span(answer["dead_letters_ms"].as_i64().unwrap_or_default());
    output.note(&format!("jobs that failed are kept for {failed} after somebody last dealt with them"));
    if let Some(oldest) = answer["oldest_job_at"].as_str() {
        output.note(&format!("the oldest job that is there was accepted at {oldest}"));
    }
    Ok(Exit::Done)
}

/// A span in the largest unit that it is a whole number of.
fn span(millis: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = UNITS.into_iter().find(|(unit, _)| millis % unit == 0 && millis > 0);
    unit.map_or_else(|| format!("{millis} ms"), |(unit, name)| format!("{} {name}", millis / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_whole_units() {
        assert_eq!([2_592_000_000, 5_400_000, 1_500, 0].map(span), ["30 d", "90 min", "1500 ms", "0 ms"]);
    }
}
