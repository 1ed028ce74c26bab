//! `forebay batch`: many jobs from one file, and how far they are.

mod lines;
mod send;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use forebay_core::id::BatchId;
use forebay_core::job::State;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::follow::{self, OUTAGE};
use super::output::Output;
use super::progress;
use super::submit::source::Source;
use super::table::{self, Column, Show, cell};
use send::Sending;

/// How often the server is asked how far a batch is.
const ASKED_EVERY: Duration = Duration::from_millis(500);

/// Arguments of `forebay batch`.
#[derive(Debug, Clone, Args)]
pub struct BatchArgs {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Clone, Subcommand)]
enum Action {
    /// Submits the jobs of a file; the same file again submits nothing twice
    Submit(SubmitArgs),
    /// Lists batches, newest first
    List {
        /// How many at most
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
    },
    /// Shows how far a batch is
    Get {
        /// The batch
        batch: BatchId,
    },
    /// Waits until the machines are done with batches; the exit code tells how their jobs ended
    Watch(Batches),
    /// Ends what is left of batches
    Cancel(Batches),
}

#[derive(Debug, Clone, Args)]
struct Batches {
    /// The batches
    #[arg(required = true, value_name = "BATCH")]
    batches: Vec<BatchId>,
}

#[derive(Debug, Clone, Args)]
struct SubmitArgs {
    /// Jobs, one a line, each as {"task": ..., "input": ...}; or a JSON array of them; `-` is standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// Sets these jobs apart: with another key they are other jobs [default: the file's name]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Waits until the machines are done with all of them; the exit code tells how they ended
    #[arg(long)]
    wait: bool,
}

const COLUMNS: [Column; 8] = [
    ("BATCH", "/batch_id", Show::Plain),
    ("KIND", "/kind", Show::Plain),
    ("SIZE", "/size", Show::Plain),
    ("OPEN", "/open", Show::Plain),
    ("REFUSED", "/refused", Show::Plain),
    ("JOBS", "/jobs", Show::Plain),
    ("CREATED", "/created_at", Show::Plain),
    ("FINISHED", "/finished_at", Show::Plain),
];

/// What a list has of each: jobs are counted where one batch is asked for.
const BRIEF: [Column; 6] = [
    ("BATCH", "/batch_id", Show::Plain),
    ("KIND", "/kind", Show::Plain),
    ("SIZE", "/size", Show::Plain),
    ("OPEN", "/open", Show::Plain),
    ("CREATED", "/created_at", Show::Plain),
    ("FINISHED", "/finished_at", Show::Plain),
];

/// Batches that are named after a submission.
const NAMED: usize = 5;

/// Runs the command.
pub async fn run(args: BatchArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    match args.action {
        Action::Submit(submit) => submit.run(&client, output).await,
        Action::List { limit } => {
            let list = client.json(Ask::get(&["v1", "job-batches"]).query("limit", Some(limit))).await?;
            show(table::rows(&list).to_vec(), &BRIEF, output)?;
            Ok(Exit::Done)
        }
        Action::Get { batch } => {
            let batch = client.json(Ask::get(&["v1", "job-batches", &batch.to_string()])).await?;
            show(vec![batch], &COLUMNS, output)?;
            Ok(Exit::Done)
        }
        Action::Watch(Batches { batches }) => {
            let batches: Vec<_> = batches.iter().map(ToString::to_string).collect();
            let ended = watch(&client, &batches, output).await?;
            let refused = ended.iter().any(|batch| number(batch, "refused") > 0);
            Ok(end_of(&ended).worst(if refused { Exit::Refused } else { Exit::Done }))
        }
        Action::Cancel(Batches { batches }) => cancel(&client, &batches, output).await,
    }
}

impl SubmitArgs {
    async fn run(&self, client: &Client, output: &Output) -> Result<Exit, CliError> {
        let source = Source::of(&self.file);
        let name = source.name();
        let content = source.read().await?;
        let text = std::str::from_utf8(&content.bytes)
            .map_err(|_| CliError::usage(format!("{name} is no UTF-8 text"), "send JSON, one job a line"))?;
        // The name without its folder, so that the same file from elsewhere is the same.
        let own =
            self.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or(name.clone());
        let namespace = self.idempotency_key.clone().unwrap_or(own);
        let jobs = lines::read(text, &namespace).map_err(|faults| {
            let fix = "write one job a line, or all in a JSON array; nothing was submitted";
            CliError::usage(format!("{name} can't be sent:{faults}"), fix)
        })?;
        if jobs.is_empty() {
            return Err(CliError::usage(format!("{name} has no jobs"), "write one job a line"));
        }
        let bar = progress::bar(output, jobs.len(), "submitting");
        let mut sending =
            Sending { client, output, bar: &bar, batches: Vec::new(), accepted: 0, before: 0, refused: 0 };
        for call in lines::calls(&jobs) {
            if let Err(error) = sending.call(call).await {
                bar.finish_and_clear();
                output.note(&format!(
                    "{} of {} jobs are in; the same command again goes on from there",
                    sending.accepted + sending.before,
                    jobs.len()
                ));
                return Err(error);
            }
        }
        bar.finish_and_clear();
        self.end(sending).await
    }

    /// Says what came of it, and waits where asked to.
    async fn end(&self, sending: Sending<'_>) -> Result<Exit, CliError> {
        let Sending { client, output, batches, accepted, before, refused, .. } = sending;
        output.note(&format!("{accepted} accepted, {before} submitted before, {refused} refused"));
        let exit = if refused > 0 { Exit::Refused } else { Exit::Done };
        if self.wait {
            // What a batch refused may have been taken in by a later one: `refused` has what is left.
            return Ok(exit.worst(end_of(&watch(client, &batches, output).await?)));
        }
        match batches.as_slice() {
            [] => {}
            few if few.len() <= NAMED => {
                output.note(&format!("follow them: forebay batch watch {}", few.join(" ")));
            }
            many => output.note(&format!("follow them: forebay batch list --limit {}", many.len().min(200))),
        }
        Ok(exit)
    }
}

fn show(batches: Vec<Value>, columns: &[Column], output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return batches.iter().try_for_each(|batch| output.record(batch));
    }
    let rows: Vec<_> = batches.into_iter().map(with_jobs).collect();
    output.table(table::of(&rows, columns))
}

/// With its jobs by state on one line. A replay's size is how many it might have had.
fn with_jobs(mut batch: Value) -> Value {
    if batch["kind"] == "replay" && batch.get("placed").is_some() {
        batch["size"] = batch["placed"].clone();
    }
    let counts = batch.get("counts").and_then(Value::as_object).cloned().unwrap_or_default();
    let parts: Vec<_> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    batch["jobs"] = json!(parts.join(", "));
    batch
}

/// Waits for batches, one after the other, and shows each as it is then.
async fn watch(client: &Client, batches: &[String], output: &Output) -> Result<Vec<Value>, CliError> {
    let mut ended = Vec::new();
    for batch in batches {
        ended.push(settled(client, batch, output).await?);
    }
    show(ended.clone(), &COLUMNS, output)?;
    Ok(ended)
}

/// The batch once the machines have nothing more to do for it.
async fn settled(client: &Client, batch_id: &str, output: &Output) -> Result<Value, CliError> {
    let bar = progress::bar(output, 0, batch_id);
    let mut last_answer = Instant::now();
    let mut is_told = false;
    loop {
        let asked = Instant::now();
        match client.json(Ask::get(&["v1", "job-batches", batch_id])).await {
            Ok(batch) => {
                last_answer = asked;
                let left = left(&batch);
                let size = number(&batch, "size");
                bar.set_length(size);
                bar.set_position(size.saturating_sub(left));
                if left == 0 {
                    bar.finish_and_clear();
                    return Ok(batch);
                }
                if is_cut(&batch) && !std::mem::replace(&mut is_told, true) {
                    output.note(&format!("{batch_id} has not all of its jobs yet: the call that makes it is under way, or broke off and has to be sent again"));
                }
            }
            Err(error) if follow::may_pass(&error) && last_answer.elapsed() < OUTAGE => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep_until(asked + ASKED_EVERY).await;
    }
}

fn number(batch: &Value, name: &str) -> u64 {
    batch.get(name).and_then(Value::as_u64).unwrap_or_default()
}

fn count(batch: &Value, state: State) -> u64 {
    batch.pointer(&format!("/counts/{}", state.name())).and_then(Value::as_u64).unwrap_or_default()
}

/// How much of it the machines still have to do. A job in review is no matter of theirs.
fn left(batch: &Value) -> u64 {
    number(batch, "open").saturating_sub(count(batch, State::ReviewRequired))
}

/// Whether only its own call keeps it open.
fn is_cut(batch: &Value) -> bool {
    left(batch) == 1 && number(batch, "placed") < number(batch, "size")
}

/// How their jobs ended.
fn end_of(batches: &[Value]) -> Exit {
    let any = |state: State| batches.iter().any(|batch| count(batch, state) > 0);
    let ends = [State::FailedTerminal, State::Cancelled, State::ReviewRequired];
    ends.into_iter()
        .filter(|state| any(*state))
        .fold(Exit::Done, |exit, state| exit.worst(Exit::of_state(state)))
}

async fn cancel(client: &Client, batches: &[BatchId], output: &Output) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    for batch in batches {
        let batch_id = batch.to_string();
        let ask = Ask::post(&["v1", "job-batches", &batch_id, "cancel"]).repeatable();
        match client.json(ask).await {
            Ok(batch) if output.is_json() => output.record(&batch)?,
            Ok(batch) => {
                let jobs = cell(with_jobs(batch).get("jobs"), Show::Plain);
                output.line(&format!("{batch_id}  {jobs}"))?;
            }
            Err(error @ CliError::Problem(_)) => {
                let error = error.about(&batch_id);
                output.error(&error);
                exit = exit.worst(error.exit());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_done_when_only_people_have_something_to_do() {
        let batch = |open: u64, counts: Value| json!({"size": 3, "placed": 3, "refused": 0, "open": open, "counts": counts});
        let running = batch(2, json!({"SUCCEEDED": 1, "RUNNING": 1, "REVIEW_REQUIRED": 1}));
        assert_eq!((left(&running), is_cut(&running)), (1, false));
        let review = batch(1, json!({"SUCCEEDED": 2, "REVIEW_REQUIRED": 1}));
        assert_eq!((left(&review), end_of(std::slice::from_ref(&review))), (0, Exit::ReviewRequired));
        let failed = batch(1, json!({"FAILED_TERMINAL": 2, "REVIEW_REQUIRED": 1}));
        assert_eq!(end_of(&[review, failed]), Exit::JobFailed);
        let broken = json!({"size": 3, "placed": 1, "refused": 0, "open": 1, "counts": {"SUCCEEDED": 1}});
        assert!(is_cut(&broken));
    }
}
