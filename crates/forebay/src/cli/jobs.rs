//! `forebay jobs`: a list of jobs, newest first.

use clap::Args;
use forebay_core::id::BatchId;
use forebay_core::job::State;
use forebay_core::limits::LIST_PAGE;
use forebay_store::{Clock as _, SystemClock};
use serde_json::Value;

use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::progress;
use super::table::{self, Column, Show};
use super::values::{When, pair};

/// Arguments of `forebay jobs`.
#[derive(Debug, Clone, Args)]
pub struct JobsArgs {
    /// Only jobs in this state: READY, RUNNING, SUCCEEDED, ...
    #[arg(long, value_parser = state)]
    pub state: Option<State>,
    /// Only jobs of this task
    #[arg(long)]
    pub task: Option<String>,
    /// Only members of this batch
    #[arg(long)]
    pub batch: Option<BatchId>,
    /// Only jobs with this metadata
    #[arg(long, value_parser = pair, value_name = "NAME=VALUE")]
    pub metadata: Vec<(String, String)>,
    /// Only jobs created after this time
    #[arg(long, value_name = "TIME")]
    pub created_after: Option<When>,
    /// How many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// All of them, page by page
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    #[command(flatten)]
    connection: Connection,
}

fn state(name: &str) -> Result<State, String> {
    let names = || State::ALL.map(State::name).join(", ");
    State::from_name(&name.to_ascii_uppercase()).ok_or_else(|| format!("expected one of {}", names()))
}

const COLUMNS: [Column; 7] = [
    ("JOB", "/job_id", Show::Plain),
    ("TASK", "/task", Show::Plain),
    ("STATE", "/state", Show::Plain),
    ("FAILURE", "/failure/class", Show::Plain),
    ("ATTEMPTS", "/attempts/made", Show::Plain),
    ("COST", "/usage/cost_micros", Show::Money),
    ("CREATED", "/created_at", Show::Plain),
];

/// Lists jobs. JSON lines are written page by page, a table when all pages are there.
pub async fn run(args: JobsArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let spinner = progress::spinner(output, "listing jobs");
    let mut pages = Pages { client: &client, args: &args, cursor: None, left: args.most() };
    let mut jobs = Vec::new();
    while let Some(page) = pages.next().await? {
        if output.is_json() {
            page.iter().try_for_each(|job| output.record(job))?;
        } else {
            jobs.extend(page);
            spinner.set_message(format!("listing jobs: {}", jobs.len()));
        }
    }
    spinner.finish_and_clear();
    if !output.is_json() {
        output.table(table::of(&jobs, &COLUMNS))?;
        if pages.cursor.is_some() {
            output.note("there are more: --limit N or --all");
        }
    }
    Ok(Exit::Done)
}

impl JobsArgs {
    fn most(&self) -> usize {
        if self.all { usize::MAX } else { usize::try_from(self.limit).unwrap_or(usize::MAX) }
    }

    fn ask(&self, cursor: Option<&str>, limit: usize) -> Ask {
        let created_after = self.created_after.map(|when| when.before(SystemClock.now()));
        let ask = Ask::get(&["v1", "jobs"])
            .query("state", self.state.map(State::name))
            .query("task", self.task.as_deref())
            .query("batch", self.batch)
            .query("created_after", created_after)
            .query("limit", Some(limit))
            .query("cursor", cursor);
        self.metadata
            .iter()
            .fold(ask, |ask, (name, value)| ask.query(&format!("metadata.{name}"), Some(value)))
    }
}

struct Pages<'a> {
    client: &'a Client,
    args: &'a JobsArgs,
    /// Where the next page begins; absent before the first page and after the last.
    cursor: Option<String>,
    left: usize,
}

impl Pages<'_> {
    async fn next(&mut self) -> Result<Option<Vec<Value>>, CliError> {
        if self.left == 0 {
            return Ok(None);
        }
        let ask = self.args.ask(self.cursor.as_deref(), self.left.min(LIST_PAGE));
        let page = self.client.json(ask).await?;
        let jobs = table::rows(&page).to_vec();
        self.cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
        let is_last = self.cursor.is_none() || jobs.is_empty();
        self.left = if is_last { 0 } else { self.left.saturating_sub(jobs.len()) };
        Ok(Some(jobs))
    }
}
