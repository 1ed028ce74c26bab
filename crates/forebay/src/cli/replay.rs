//! `forebay replay`: failed jobs are done again, as new jobs.

use clap::Args;
use forebay_core::id::JobId;
use serde_json::{Value, json};

use super::client::{Ask, Client, IDEMPOTENCY_KEY};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::letters::{Filter, show_groups};
use super::output::Output;
use super::table::{Show, cell, rows};

/// Arguments of `forebay replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// The jobs that failed; without them, the open dead letters that the filters leave
    #[arg(value_name = "JOB", conflicts_with_all = ["task", "class", "revision", "owner", "unowned", "after", "before", "metadata", "all"])]
    pub jobs: Vec<JobId>,
    /// Every open dead letter
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    filter: Filter,
    /// Runs them by this revision of their task, as invoice@4 [default: the active one]
    #[arg(long, value_name = "TASK@REVISION")]
    pub task_revision: Option<String>,
    /// Why; kept in the audit
    #[arg(long)]
    pub reason: Option<String>,
    /// Also those that were replayed before
    #[arg(long)]
    pub again: bool,
    /// Shows what would be replayed and does nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Replays.
pub async fn run(args: ReplayArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    if !args.jobs.is_empty() {
        return each(&client, &args, output).await;
    }
    if args.filter.is_all() && !args.all {
        let fix = "name jobs, give a filter such as --task or --class, or --all for every open dead letter";
        return Err(CliError::usage("there is nothing named to replay", fix));
    }
    if args.dry_run {
        return show_groups(&client, &args.filter, None, output).await;
    }
    many(&client, &args, output).await
}

impl ReplayArgs {
    fn body(&self, mut members: serde_json::Map<String, Value>) -> Value {
        let wish = [
            ("task", self.task_revision.as_ref().map(|task| json!(task))),
            ("reason", self.reason.as_ref().map(|reason| json!(reason))),
            ("again", self.again.then_some(json!(true))),
        ];
        members.extend(wish.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        Value::Object(members)
    }
}

/// One that is refused does not hold up the others.
async fn each(client: &Client, args: &ReplayArgs, output: &Output) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    for job in &args.jobs {
        let job_id = job.to_string();
        if args.dry_run {
            output.line(&job_id)?;
            continue;
        }
        let ask = Ask::post(&["v1", "jobs", &job_id, "replay"]).json(&args.body(serde_json::Map::new()));
        match client.json(ask.header(IDEMPOTENCY_KEY, &new_key())?).await {
            Ok(new) if output.is_json() => output.record(&new)?,
            Ok(new) => output.line(&format!("{}  replays {job_id}", cell(new.get("job_id"), Show::Plain)))?,
            Err(error @ CliError::Problem(_)) => {
                let error = error.about(&job_id);
                output.error(&error);
                exit = exit.worst(error.exit());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(exit)
}

/// Call after call, until none are left or a limit stops it.
async fn many(client: &Client, args: &ReplayArgs, output: &Output) -> Result<Exit, CliError> {
    // Read once: spans count from now, and a cursor goes on in the very list that it is from.
    let filter = args.filter.members();
    let mut cursor: Option<Value> = None;
    let mut exit = Exit::Done;
    loop {
        let mut body = args.body(filter.clone());
        if let Some(cursor) = cursor.take() {
            body["cursor"] = cursor;
        }
        let ask = Ask::post(&["v1", "dead-letters", "replay"]).json(&body);
        let answer = client.json(ask.header(IDEMPOTENCY_KEY, &new_key())?).await?;
        if show(&answer, output)? > 0 {
            exit = exit.worst(Exit::Refused);
        }
        if let Some(stopped) = answer.get("stopped") {
            output.note(&format!("stopped: {}", cell(stopped.get("detail"), Show::Plain)));
            return Ok(exit.worst(Exit::Refused));
        }
        cursor = answer.get("next_cursor").cloned();
        if cursor.is_none() {
            return Ok(exit);
        }
    }
}

/// Says what one call did; gives how many were refused.
fn show(answer: &Value, output: &Output) -> Result<u64, CliError> {
    let count = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or_default();
    if output.is_json() {
        output.record(answer)?;
        return Ok(count("refused"));
    }
    let results = answer.get("results").cloned().unwrap_or_default();
    for refused in rows(&results).iter().filter(|result| result.get("problem").is_some()) {
        let (job, why) = (cell(refused.get("replay_of"), Show::Plain), refused.pointer("/problem/detail"));
        output.note(&format!("{job} is not replayed: {}", cell(why, Show::Plain)));
    }
    let batch = cell(answer.get("batch_id"), Show::Plain);
    output.line(&format!(
        "{} replayed, {} refused, {} left  {batch}",
        count("replayed"),
        count("refused"),
        count("left")
    ))?;
    if !batch.is_empty() {
        output.note(&format!("follow them: forebay jobs --batch {batch}"));
    }
    Ok(count("refused"))
}

fn new_key() -> String {
    format!("cli-{:032x}", rand::random::<u128>())
}
