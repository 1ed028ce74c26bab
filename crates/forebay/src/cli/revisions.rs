//! `forebay revisions`, `diff` and `rollback`: what was in force, what changed, and the way back.

use std::path::PathBuf;

use clap::Args;
use forebay_core::limits::LIST_PAGE;
use http::StatusCode;
use http::header::{HeaderValue, IF_MATCH};
use serde_json::{Value, json};

use super::apply::bundled;
use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::{self, Column, Show, cell};
use crate::definitions::{Named, diff as definitions};

/// Arguments of `forebay revisions`.
#[derive(Debug, Clone, Args)]
pub struct RevisionsArgs {
    /// Prints the definitions of this revision instead of the list
    pub number: Option<u32>,
    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `forebay diff`.
#[derive(Debug, Clone, Args)]
pub struct DiffArgs {
    /// Definitions that were not applied yet; files that they name are looked for beside them
    #[arg(conflicts_with = "to")]
    pub file: Option<PathBuf>,
    /// The earlier revision [default: the active one with FILE, else the one before --to]
    #[arg(long, value_name = "N")]
    pub from: Option<u32>,
    /// The later revision [default: the active one]
    #[arg(long, value_name = "N")]
    pub to: Option<u32>,
    /// Prints the texts line by line, as `diff -u` does
    #[arg(long)]
    pub text: bool,
    /// Ends with 1 when there are differences
    #[arg(long)]
    pub exit_code: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `forebay rollback`.
#[derive(Debug, Clone, Args)]
pub struct RollbackArgs {
    /// The revision whose definitions are to be active again [default: the one before the active one]
    pub number: Option<u32>,
    /// Why; kept with the revision
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Only where this revision is the active one
    #[arg(long, value_name = "N")]
    pub expect: Option<u32>,
    /// Shows what would change and changes nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    connection: Connection,
}

const COLUMNS: [Column; 5] = [
    ("REVISION", "/number", Show::Plain),
    ("ACTIVE", "/active", Show::Plain),
    ("BY", "/by/name", Show::Plain),
    ("WHEN", "/created_at", Show::Plain),
    ("COMMENT", "/comment", Show::Plain),
];

/// Lists revisions, newest first, or prints one.
pub async fn list(args: RevisionsArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    if let Some(number) = args.number {
        let revision = client.json(Ask::get(&["v1", "revisions", &number.to_string()])).await?;
        if output.is_json() {
            output.record(&revision)?;
        } else {
            output.result(&revision["source"])?;
        }
        return Ok(Exit::Done);
    }
    let limit = usize::try_from(args.limit).unwrap_or(LIST_PAGE);
    let list = client.json(Ask::get(&["v1", "revisions"]).query("limit", Some(limit))).await?;
    let rows = table::rows(&list);
    if output.is_json() {
        rows.iter().try_for_each(|row| output.record(row))?;
        return Ok(Exit::Done);
    }
    output.table(table::of(rows, &COLUMNS))?;
    if list.get("next_cursor").is_some() {
        output.note("there are more: --limit N");
    }
    Ok(Exit::Done)
}

/// Says what two revisions, or a revision and a file, differ in.
pub async fn diff(args: DiffArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let found = match &args.file {
        Some(file) => {
            let source = bundled(file)?;
            let ask = Ask::post(&["v1", "revisions"]).query("dry_run", Some(true)).query("from", args.from);
            client.json(toml(ask, source).repeatable()).await?["diff"].take()
        }
        None => between(&client, args.from, args.to).await?,
    };
    if output.is_json() {
        output.record(&found)?;
    } else if args.text {
        output.result(&found["text"])?;
    } else {
        show(&found, output)?;
    }
    let differs = !is_same(&found);
    Ok(if differs && args.exit_code { Exit::Failed } else { Exit::Done })
}

/// Makes the definitions of an older revision the active ones again.
pub async fn rollback(args: RollbackArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let number = match args.number {
        Some(number) => number,
        None => before_the_active(&client).await?,
    };
    let path = ["v1", "revisions", &number.to_string(), "rollback"];
    let mut ask = Ask::post(&path).query("dry_run", args.dry_run.then_some(true));
    if let Some(comment) = &args.comment {
        ask = ask.json(&json!({ "comment": comment }));
    }
    // The text of the active revision is kept once, however often it is asked for.
    let answer = client.send(expecting(ask, args.expect)?.repeatable()).await?;
    if args.dry_run {
        output.note(&format!("the definitions would be those of revision {number}"));
        return trial(&answer.json()?, output);
    }
    output.note(&format!("the definitions are those of revision {number}"));
    report(&client, &answer.json()?, answer.status == StatusCode::CREATED, output).await
}

async fn before_the_active(client: &Client) -> Result<u32, CliError> {
    let active = client.json(Ask::get(&["v1", "revisions", "active"])).await?;
    let number = active["number"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
    number.checked_sub(1).filter(|number| *number > 0).ok_or_else(|| {
        CliError::usage("revision 1 is the first: there is nothing to go back to", "`forebay apply FILE`")
    })
}

async fn between(client: &Client, from: Option<u32>, to: Option<u32>) -> Result<Value, CliError> {
    client.json(Ask::get(&["v1", "revisions", "diff"]).query("from", from).query("to", to)).await
}

/// Definitions as the body of a request.
pub(super) fn toml(ask: Ask, source: String) -> Ask {
    ask.bytes(HeaderValue::from_static("application/toml"), source.into())
}

/// Binds a request to the revision that has to be active.
pub(super) fn expecting(ask: Ask, number: Option<u32>) -> Result<Ask, CliError> {
    match number {
        Some(number) => ask.header(IF_MATCH, &format!("\"{number}\"")),
        None => Ok(ask),
    }
}

/// Says what would change.
pub(super) fn trial(trial: &Value, output: &Output) -> Result<Exit, CliError> {
    if output.is_json() {
        output.record(trial)?;
        return Ok(Exit::Done);
    }
    output.line("the server takes the definitions; nothing was changed")?;
    show(&trial["diff"], output)?;
    Ok(Exit::Done)
}

/// Says which revision is active now, and what has changed.
pub(super) async fn report(
    client: &Client,
    applied: &Value,
    is_new: bool,
    output: &Output,
) -> Result<Exit, CliError> {
    if output.is_json() {
        output.record(applied)?;
        return Ok(Exit::Done);
    }
    let number = cell(applied.get("number"), Show::Plain);
    if !is_new {
        output.line(&format!("revision {number} is active already: these are its definitions"))?;
        return Ok(Exit::Done);
    }
    output.line(&format!("revision {number} is active"))?;
    let to = applied["number"].as_u64().and_then(|number| u32::try_from(number).ok());
    show(&between(client, None, to).await?, output)?;
    output.note("undo it: forebay rollback");
    Ok(Exit::Done)
}

fn is_same(found: &Value) -> bool {
    found["text"].as_str().is_none_or(str::is_empty)
}

/// What is different, for people: a line a definition, and one for each of its members.
fn show(found: &Value, output: &Output) -> Result<(), CliError> {
    let from = cell(found.get("from"), Show::Plain);
    let changes = found["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if changes.is_empty() {
        let what = if is_same(found) { "nothing" } else { "only comments or layout: --text shows them" };
        return output.line(&format!("changes since revision {from}: {what}"));
    }
    output.line(&format!("changes since revision {from}:"))?;
    for change in changes {
        lines_of(change).iter().try_for_each(|line| output.line(line))?;
    }
    match found["affected_tasks"].as_array().map(Vec::as_slice) {
        None | Some([]) => Ok(()),
        Some(tasks) => {
            let names: Vec<_> = tasks.iter().map(|task| cell(Some(task), Show::Plain)).collect();
            output.line(&format!("results of new jobs may differ: {}", names.join(", ")))
        }
    }
}

fn lines_of(change: &Value) -> Vec<String> {
    let text = |name: &str| cell(change.get(name), Show::Plain);
    let (kind, section) = (text("change"), text("section"));
    let sign = match kind.as_str() {
        "added" => '+',
        "removed" => '-',
        _ => '~',
    };
    let singular = match section.as_str() {
        "policies" => "policy",
        other => other.trim_end_matches('s'),
    };
    let mut lines = vec![format!("{sign} {singular} {}", text("name"))];
    if sign == '~' {
        let members = change["members"].as_array().map(Vec::as_slice).unwrap_or_default();
        lines.extend(members.iter().flat_map(member_lines));
    }
    lines
}

/// Characters of a value on a line.
const VALUE_CHARS: usize = 60;

/// One line, or the lines that differ where a text has several.
fn member_lines(member: &Value) -> Vec<String> {
    let name = cell(member.get("member"), Show::Plain);
    if let (Some(before), Some(after)) = (member["before"].as_str(), member["after"].as_str())
        && (before.contains('\n') || after.contains('\n'))
    {
        let diff = definitions::unified(Named { name: "", text: before }, Named { name: "", text: after });
        let changed = diff.lines().skip(2).map(|line| format!("      {line}"));
        return std::iter::once(format!("    {name}:")).chain(changed).collect();
    }
    let value = |name: &str| member.get(name).map_or_else(|| "(absent)".to_owned(), short);
    vec![format!("    {name}: {} -> {}", value("before"), value("after"))]
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(VALUE_CHARS).collect();
    if cut.len() < text.len() { format!("{cut}...") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_line_and_its_members() {
        let change = json!({"section": "policies", "name": "invoice", "change": "changed", "members": [
            {"member": "version", "before": 1, "after": 2},
            {"member": "amounts.tolerance", "after": "0.01"},
            {"member": "prompt", "before": "a\nb\n", "after": "a\nc\n"},
        ]});
        insta::assert_snapshot!(lines_of(&change).join("\n"), @r#"
        ~ policy invoice
            version: 1 -> 2
            amounts.tolerance: (absent) -> "0.01"
            prompt:
              @@ -1,2 +1,2 @@
               a
              -b
              +c
        "#);
        let added = json!({"section": "pools", "name": "spare", "change": "added", "members": [{}]});
        assert_eq!(lines_of(&added), ["+ pool spare"]);
    }
}
