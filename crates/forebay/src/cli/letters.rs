//! `forebay dead-letters`: jobs that failed, and who deals with them.

use clap::{Args, Subcommand};
use forebay_core::id::JobId;
use forebay_store::{Clock as _, SystemClock};
use serde_json::{Map, Value, json};

use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::{self, Column, Show, cell};
use super::values::{When, pair};
use change::ChangeArgs;

mod change;
mod show;

/// Arguments of `forebay dead-letters`.
#[derive(Debug, Clone, Args)]
pub struct LettersArgs {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Clone, Subcommand)]
enum Action {
    /// Lists them, latest failure first
    List(ListArgs),
    /// Counts them by task and failure class
    Groups(Filter),
    /// Shows one with its failure, notes and replays
    Show {
        /// The job that failed
        job: JobId,
    },
    /// Adds a note
    Note {
        /// The job that failed
        job: JobId,
        /// What is to be remembered
        text: String,
    },
    /// Says who deals with one
    Own {
        /// The job that failed
        job: JobId,
        /// Who; an empty text is nobody
        owner: String,
    },
    /// Says that they are settled
    Resolve(Jobs),
    /// Says that they are not worth the trouble
    Dismiss(Jobs),
    /// Opens them again
    Open(Jobs),
    /// Changes many at once: those that are named, or those that the filters leave
    Change(ChangeArgs),
}

#[derive(Debug, Clone, Args)]
struct Jobs {
    /// The jobs that failed
    #[arg(required = true, value_name = "JOB")]
    jobs: Vec<JobId>,
}

#[derive(Debug, Clone, Args)]
struct ListArgs {
    #[command(flatten)]
    filter: Filter,
    /// open, replayed, resolved or dismissed
    #[arg(long, default_value = "open")]
    state: String,
    /// How many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

/// Which dead letters.
#[derive(Debug, Clone, Default, Args)]
pub struct Filter {
    /// Only of this task
    #[arg(long)]
    pub task: Option<String>,
    /// Only of this failure class, such as invalid_request
    #[arg(long)]
    pub class: Option<String>,
    /// Only of jobs that ran by this revision
    #[arg(long)]
    pub revision: Option<u32>,
    /// Only of this owner
    #[arg(long)]
    pub owner: Option<String>,
    /// Only those that nobody deals with
    #[arg(long, conflicts_with = "owner")]
    pub unowned: bool,
    /// Only of jobs that failed at this time or later, as 2026-12-01T10:00:00Z or 2h for two hours ago
    #[arg(long, value_name = "TIME")]
    pub after: Option<When>,
    /// Only of jobs that failed before this time
    #[arg(long, value_name = "TIME")]
    pub before: Option<When>,
    /// Only of jobs with this metadata
    #[arg(long, value_parser = pair, value_name = "NAME=VALUE")]
    pub metadata: Vec<(String, String)>,
}

impl Filter {
    /// Whether it leaves nothing out.
    pub fn is_all(&self) -> bool {
        self.members().is_empty()
    }

    /// As members of a request's body.
    pub fn members(&self) -> Map<String, Value> {
        let time = |when: Option<When>| when.map(|when| json!(when.before(SystemClock.now())));
        let metadata: Map<_, _> =
            self.metadata.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        let members = [
            ("task", self.task.as_ref().map(|task| json!(task))),
            ("class", self.class.as_ref().map(|class| json!(class))),
            ("revision", self.revision.map(|revision| json!(revision))),
            ("owner", self.owner.as_ref().map(|owner| json!(owner))),
            ("unowned", self.unowned.then_some(json!(true))),
            ("after", time(self.after)),
            ("before", time(self.before)),
            ("metadata", Some(Value::Object(metadata)).filter(|_| !self.metadata.is_empty())),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    fn ask(&self, path: &[&str]) -> Ask {
        let mut ask = Ask::get(path);
        for (name, value) in self.members() {
            ask = match value {
                Value::Object(members) => members
                    .iter()
                    .fold(ask, |ask, (key, value)| ask.query(&format!("metadata.{key}"), value.as_str())),
                value => ask.query(&name, Some(cell(Some(&value), Show::Plain))),
            };
        }
        ask
    }
}

const COLUMNS: [Column; 7] = [
    ("JOB", "/job_id", Show::Plain),
    ("TASK", "/job/task", Show::Plain),
    ("REVISION", "/job/revision", Show::Plain),
    ("CLASS", "/job/failure/class", Show::Plain),
    ("OWNER", "/owner", Show::Plain),
    ("FAILED", "/failed_at", Show::Plain),
    ("WHY", "/job/failure/message", Show::Plain),
];

const GROUPS: [Column; 5] = [
    ("TASK", "/task", Show::Plain),
    ("CLASS", "/class", Show::Plain),
    ("COUNT", "/count", Show::Plain),
    ("OLDEST", "/oldest", Show::Plain),
    ("NEWEST", "/newest", Show::Plain),
];

/// Runs the command.
pub async fn run(args: LettersArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let change = |job: JobId, body: Value| (vec![job], body);
    let (jobs, body) = match args.action {
        Action::List(list) => return show_list(&client, &list, output).await,
        Action::Groups(filter) => return show_groups(&client, &filter, None, output).await,
        Action::Show { job } => {
            let letter = client.json(Ask::get(&["v1", "dead-letters", &job.to_string()])).await?;
            if output.is_json() {
                output.record(&letter)?
            } else {
                show::letter(&letter, output)?
            }
            return Ok(Exit::Done);
        }
        Action::Change(change) => return change.run(&client, output).await,
        Action::Note { job, text } => change(job, json!({ "note": text })),
        Action::Own { job, owner } => change(job, json!({ "owner": owner })),
        Action::Resolve(jobs) => (jobs.jobs, json!({ "state": "resolved" })),
        Action::Dismiss(jobs) => (jobs.jobs, json!({ "state": "dismissed" })),
        Action::Open(jobs) => (jobs.jobs, json!({ "state": "open" })),
    };
    change_all(&client, &jobs, &body, output).await
}

async fn show_list(client: &Client, list: &ListArgs, output: &Output) -> Result<Exit, CliError> {
    let ask = list.filter.ask(&["v1", "dead-letters"]);
    let page = client.json(ask.query("state", Some(&list.state)).query("limit", Some(list.limit))).await?;
    show_rows(&page, &COLUMNS, output)?;
    if page.get("next_cursor").is_some() {
        output.note("there are more: --limit N, or `forebay dead-letters groups`");
    }
    Ok(Exit::Done)
}

/// Shows how many there are in a state; without one, how many are open.
pub async fn show_groups(
    client: &Client,
    filter: &Filter,
    state: Option<&str>,
    output: &Output,
) -> Result<Exit, CliError> {
    let groups = client.json(filter.ask(&["v1", "dead-letters", "groups"]).query("state", state)).await?;
    show_rows(&groups, &GROUPS, output)?;
    Ok(Exit::Done)
}

fn show_rows(list: &Value, columns: &[Column], output: &Output) -> Result<(), CliError> {
    let rows = table::rows(list);
    if output.is_json() {
        return rows.iter().try_for_each(|row| output.record(row));
    }
    if rows.is_empty() {
        output.note("there are no such dead letters");
        return Ok(());
    }
    output.table(table::of(rows, columns))
}

/// Changes each. One that is refused does not hold up the others.
async fn change_all(
    client: &Client,
    jobs: &[JobId],
    body: &Value,
    output: &Output,
) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    for job in jobs {
        let job_id = job.to_string();
        match client.json(Ask::post(&["v1", "dead-letters", &job_id]).json(body)).await {
            Ok(letter) if output.is_json() => output.record(&letter)?,
            Ok(letter) => {
                let (state, owner) =
                    (cell(letter.get("state"), Show::Plain), cell(letter.get("owner"), Show::Plain));
                output.line(&format!("{job_id}  {state}  {owner}"))?;
            }
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
