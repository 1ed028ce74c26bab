//! `forebay workers`: the processes of an installation.

use clap::Args;
use serde_json::Value;

use super::client::Ask;
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::{self, Column, Show};

/// Arguments of `forebay workers`.
#[derive(Debug, Clone, Args)]
pub struct WorkersArgs {
    #[command(flatten)]
    connection: Connection,
}

const COLUMNS: [Column; 9] = [
    ("NAME", "/name", Show::Plain),
    ("ROLES", "/roles", Show::Plain),
    ("LEADS", "/leads", Show::Plain),
    ("IN HAND", "/jobs_in_hand", Show::Plain),
    ("SLOTS", "/slots", Show::Plain),
    ("POOLS", "/pools", Show::Plain),
    ("TASKS", "/tasks", Show::Plain),
    ("BUILD", "/build", Show::Plain),
    ("HEARD OF", "/heard_at", Show::Plain),
];

/// Lists them, oldest first.
pub async fn run(args: WorkersArgs, output: &Output) -> Result<Exit, CliError> {
    let answer = args.connection.client()?.json(Ask::get(&["v1", "workers"])).await?;
    let workers = table::rows(&answer);
    if output.is_json() {
        workers.iter().try_for_each(|worker| output.record(worker))?;
        return Ok(Exit::Done);
    }
    output.table(table::of(workers, &COLUMNS))?;
    let silent = workers.iter().filter(|worker| worker["silent"] == Value::Bool(true));
    for worker in silent {
        let name = table::cell(worker.get("name"), Show::Plain);
        output.note(&format!("{name} is silent: it is dead, paused, or cut off from its database"));
    }
    Ok(Exit::Done)
}
