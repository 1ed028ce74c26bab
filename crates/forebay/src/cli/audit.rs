//! `forebay audit`: who changed what, and when.

use std::time::Duration;

use clap::{Args, ValueEnum};
use forebay_core::limits::LIST_PAGE;
use forebay_store::record::AuditAction;
use forebay_store::{Clock as _, SystemClock};
use futures_util::StreamExt as _;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::follow::{OUTAGE, may_pass};
use super::output::Output;
use super::table::{self, Column, Show, cell};
use super::values::When;

/// How often the server is asked for what is new.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// Arguments of `forebay audit`.
#[derive(Debug, Clone, Args)]
pub struct AuditArgs {
    /// Only about this id, name or number: a job, a key, a tenant, a revision
    #[arg(long)]
    pub subject: Option<String>,
    /// Only of this action: key.revoke, revision.apply, ...
    #[arg(long, value_parser = action)]
    pub action: Option<AuditAction>,
    /// Only by this key: `key_...`
    #[arg(long, value_name = "KEY")]
    pub by: Option<String>,
    /// Only of this tenant's affairs
    #[arg(long)]
    pub tenant: Option<String>,
    /// Only since this time, or for so long: 24h
    #[arg(long, value_name = "TIME|SPAN")]
    pub since: Option<When>,
    /// Only before this time, or until so long ago
    #[arg(long, value_name = "TIME|SPAN")]
    pub until: Option<When>,
    /// How many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// All that match, as a file on standard output
    #[arg(long, value_name = "FORMAT", conflicts_with = "limit")]
    pub export: Option<Format>,
    /// The latest ones, oldest first, and then each as it comes
    #[arg(long, conflicts_with_all = ["export", "until"])]
    pub follow: bool,
    #[command(flatten)]
    connection: Connection,
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A JSON document a line.
    Jsonl,
    /// As spreadsheets read it.
    Csv,
}

fn action(name: &str) -> Result<AuditAction, String> {
    let names = || AuditAction::ALL.map(AuditAction::name).join(", ");
    AuditAction::from_name(name).ok_or_else(|| format!("expected one of {}", names()))
}

const COLUMNS: [Column; 6] = [
    ("WHEN", "/at", Show::Plain),
    ("WHO", "/actor/name", Show::Plain),
    ("ACTION", "/action", Show::Plain),
    ("SUBJECT", "/subject", Show::Plain),
    ("TENANT", "/tenant", Show::Plain),
    ("CHANGE", "/change", Show::Plain),
];

/// Lists changes, newest first, or writes all of them out.
pub async fn run(args: AuditArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    if let Some(format) = args.export {
        export(&client, &args, format, output).await?;
        return Ok(Exit::Done);
    }
    if args.follow {
        return follow(&client, &args, output).await;
    }
    let limit = usize::try_from(args.limit).unwrap_or(LIST_PAGE);
    let list = client.json(args.filtered(Ask::get(&["v1", "audit"])).query("limit", Some(limit))).await?;
    let rows = table::rows(&list);
    if output.is_json() {
        rows.iter().try_for_each(|row| output.record(row))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = rows.iter().cloned().map(with_change).collect();
    output.table(table::of(&rows, &COLUMNS))?;
    if list.get("next_cursor").is_some() {
        output.note("there are more: --limit N, or --export jsonl for all");
    }
    Ok(Exit::Done)
}

/// Writes the file as it comes: its length costs time and no memory.
async fn export(client: &Client, args: &AuditArgs, format: Format, output: &Output) -> Result<(), CliError> {
    let format = if format == Format::Csv { "csv" } else { "jsonl" };
    let ask = args.filtered(Ask::get(&["v1", "audit", "export"])).query("format", Some(format));
    let mut pieces = client.open(&ask).await?.bytes_stream();
    let mut pending = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|error| CliError::failed("the export broke off and is not whole", &error))?;
        pending.extend_from_slice(&piece);
        // Whole lines only: a character in two pieces is none.
        if let Some(end) = pending.iter().rposition(|byte| *byte == b'\n') {
            let lines: Vec<u8> = pending.drain(..=end).collect();
            output.result(&Value::String(String::from_utf8_lossy(&lines).into_owned()))?;
        }
    }
    if pending.is_empty() {
        return Ok(());
    }
    output.result(&Value::String(String::from_utf8_lossy(&pending).into_owned()))
}

/// Shows the latest entries and goes on with each new one, until it is interrupted. A server that is gone for a while
/// is waited for.
async fn follow(client: &Client, args: &AuditArgs, output: &Output) -> Result<Exit, CliError> {
    let mut last: Option<Value> = None;
    let mut last_answer: Option<Instant> = None;
    loop {
        match newer(client, args, last.as_ref()).await {
            Ok(entries) => {
                last_answer = Some(Instant::now());
                for entry in entries {
                    show_line(&entry, output)?;
                    last = Some(entry);
                }
            }
            Err(error) => {
                let is_recent = last_answer.is_some_and(|at| at.elapsed() < OUTAGE);
                if !is_recent || !may_pass(&error) {
                    return Err(error);
                }
            }
        }
        tokio::time::sleep(ASKED_EVERY).await;
    }
}

/// What came after an entry, oldest first; without one, the latest.
async fn newer(client: &Client, args: &AuditArgs, last: Option<&Value>) -> Result<Vec<Value>, CliError> {
    let number = |entry: &Value| entry.get("number").and_then(Value::as_u64);
    let seen = last.and_then(number);
    // Nothing that is new can be older, so that a look finds little.
    let since = last.and_then(|entry| entry.get("at")).and_then(Value::as_str);
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let limit = if seen.is_none() { usize::try_from(args.limit).unwrap_or(LIST_PAGE) } else { LIST_PAGE };
        let ask = match since {
            Some(since) => args.chosen(Ask::get(&["v1", "audit"])).query("since", Some(since)),
            None => args.filtered(Ask::get(&["v1", "audit"])),
        };
        let page = client.json(ask.query("limit", Some(limit)).query("cursor", cursor.as_deref())).await?;
        let rows = table::rows(&page);
        found.extend(rows.iter().filter(|entry| number(entry) > seen).cloned());
        let is_old = rows.last().is_none_or(|entry| number(entry) <= seen);
        cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
        if seen.is_none() || is_old || cursor.is_none() {
            found.reverse();
            return Ok(found);
        }
    }
}

fn show_line(entry: &Value, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(entry);
    }
    let entry = with_change(entry.clone());
    let cells = COLUMNS.map(|(_, pointer, show)| cell(entry.pointer(pointer), show));
    output.line(cells.join("  ").trim_end())
}

impl AuditArgs {
    fn filtered(&self, ask: Ask) -> Ask {
        let now = SystemClock.now();
        self.chosen(ask)
            .query("since", self.since.map(|when| when.before(now)))
            .query("until", self.until.map(|when| when.before(now)))
    }

    /// Whatever its time is.
    fn chosen(&self, ask: Ask) -> Ask {
        ask.query("subject", self.subject.as_deref())
            .query("action", self.action.map(AuditAction::name))
            .query("key", self.by.as_deref())
            .query("tenant", self.tenant.as_deref())
    }
}

fn with_change(mut entry: Value) -> Value {
    let change = change(entry.get("before"), entry.get("after"));
    entry["change"] = Value::String(change);
    entry
}

/// The members that differ, whatever they are.
fn change(before: Option<&Value>, after: Option<&Value>) -> String {
    let nothing = Map::new();
    let members = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
    let (old, new) = (members(before), members(after));
    let (old, new) = (old.as_ref().unwrap_or(&nothing), new.as_ref().unwrap_or(&nothing));
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    let differing = names.filter(|name| value(old.get(*name)) != value(new.get(*name)));
    let shown = differing.map(|name| match (value(old.get(name)), value(new.get(name))) {
        (None, Some(new)) => format!("{name}: {new}"),
        (Some(old), None) => format!("{name}: {old} -> nothing"),
        (old, new) => format!("{name}: {} -> {}", old.unwrap_or_default(), new.unwrap_or_default()),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Characters of a value in the table; `--json` has all of it.
const VALUE_CHARS: usize = 40;

fn value(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = text.chars().take(VALUE_CHARS).collect();
    Some(if cut.len() < text.len() { format!("{cut}...") } else { cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_shows_what_differs() {
        for (before, after, shown) in [
            (json!({"state": "READY"}), json!({"state": "CANCELLED"}), "state: READY -> CANCELLED"),
            (json!(null), json!({"name": "erp", "scopes": ["read"]}), "name: erp, scopes: [\"read\"]"),
            (json!({"a": 1, "b": 2}), json!({"a": 1, "b": null}), "b: 2 -> nothing"),
            (json!(null), json!(null), ""),
        ] {
            assert_eq!(change(Some(&before), Some(&after)), shown);
        }
    }
}
