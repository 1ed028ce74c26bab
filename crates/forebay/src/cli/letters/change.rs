//! `forebay dead-letters change`: many at once.

use clap::{ArgGroup, Args};
use forebay_core::id::JobId;
use forebay_core::limits::LETTERS;
use serde_json::{Map, Value, json};

use super::{Filter, show_groups};
use crate::cli::client::{Ask, Client};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::table::{Show, cell, rows};

/// Arguments of `forebay dead-letters change`.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("what").multiple(true).required(true))]
#[command(group = ArgGroup::new("state").multiple(false))]
pub struct ChangeArgs {
    /// The jobs that failed; without them, those that the filters leave
    #[arg(value_name = "JOB", conflicts_with_all = ["task", "class", "revision", "owner", "unowned", "after", "before", "metadata", "all", "among", "dry_run"])]
    jobs: Vec<JobId>,
    /// Every one
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    filter: Filter,
    /// Among those in this state: open, replayed, resolved or dismissed
    #[arg(long, value_name = "STATE", default_value = "open")]
    among: String,
    /// Says who deals with them
    #[arg(long, value_name = "NAME", groups = ["what"], help_heading = "What changes")]
    assign: Option<String>,
    /// Says that nobody deals with them
    #[arg(long, groups = ["what"], conflicts_with = "assign", help_heading = "What changes")]
    unassign: bool,
    /// Adds a note to each
    #[arg(long, value_name = "TEXT", groups = ["what"], help_heading = "What changes")]
    note: Option<String>,
    /// Says that they are settled
    #[arg(long, groups = ["what", "state"], help_heading = "What changes")]
    resolve: bool,
    /// Says that they are not worth the trouble
    #[arg(long, groups = ["what", "state"], help_heading = "What changes")]
    dismiss: bool,
    /// Opens them again
    #[arg(long, groups = ["what", "state"], help_heading = "What changes")]
    reopen: bool,
    /// Counts them and changes nothing
    #[arg(long)]
    dry_run: bool,
}

impl ChangeArgs {
    /// Changes them, call after call, until none are left. One that is refused does not hold up the others.
    pub async fn run(&self, client: &Client, output: &Output) -> Result<Exit, CliError> {
        if self.jobs.is_empty() && self.filter.is_all() && !self.all {
            let fix = "name jobs, give a filter such as --task or --class, or --all for every one";
            return Err(CliError::usage("there is nothing named to change", fix));
        }
        if self.dry_run {
            return show_groups(client, &self.filter, Some(self.among.as_str()), output).await;
        }
        let (mut changed, mut refused) = (0, 0);
        for jobs in self.jobs.chunks(LETTERS) {
            let ids: Vec<_> = jobs.iter().map(ToString::to_string).collect();
            let answer = self.call(client, ("jobs", json!(ids)), None).await?;
            show(&answer, output, (&mut changed, &mut refused))?;
        }
        // Read once: spans count from now, and a cursor goes on in the very list that it is from.
        let wanted = self.wanted();
        let mut cursor = None;
        while self.jobs.is_empty() {
            let answer = self.call(client, ("filter", wanted.clone()), cursor).await?;
            show(&answer, output, (&mut changed, &mut refused))?;
            cursor = answer.get("next_cursor").cloned();
            if cursor.is_none() {
                break;
            }
        }
        if !output.is_json() {
            output.line(&format!("{changed} changed, {refused} refused"))?;
        }
        Ok(if refused > 0 { Exit::Refused } else { Exit::Done })
    }

    fn wanted(&self) -> Value {
        let mut filter = self.filter.members();
        filter.insert("state".to_owned(), json!(self.among));
        Value::Object(filter)
    }

    async fn call(
        &self,
        client: &Client,
        which: (&str, Value),
        cursor: Option<Value>,
    ) -> Result<Value, CliError> {
        let mut body = Map::from_iter([("set".to_owned(), self.change())]);
        body.insert(which.0.to_owned(), which.1);
        body.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor)));
        let ask = Ask::post(&["v1", "dead-letters", "change"]).json(&Value::Object(body));
        // A note would be added twice.
        client.json(if self.note.is_none() { ask.repeatable() } else { ask }).await
    }

    fn change(&self) -> Value {
        let states = [(self.resolve, "resolved"), (self.dismiss, "dismissed"), (self.reopen, "open")];
        let state = states.into_iter().find(|(is_wanted, _)| *is_wanted).map(|(_, state)| json!(state));
        let owner = self.assign.as_deref().or(self.unassign.then_some(""));
        let members = [
            ("state", state),
            ("owner", owner.map(|owner| json!(owner))),
            ("note", self.note.as_ref().map(|note| json!(note))),
        ];
        members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect::<Map<_, _>>()
            .into()
    }
}

fn show(answer: &Value, output: &Output, (changed, refused): (&mut u64, &mut u64)) -> Result<(), CliError> {
    let count = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or_default();
    *changed += count("changed");
    *refused += count("refused");
    if output.is_json() {
        return output.record(answer);
    }
    let results = answer.get("results").cloned().unwrap_or_default();
    for result in rows(&results).iter().filter(|result| result.get("problem").is_some()) {
        let (job, why) = (cell(result.get("job_id"), Show::Plain), result.pointer("/problem/detail"));
        let why = why.or_else(|| result.pointer("/problem/title"));
        output.note(&format!("{job} is not changed: {}", cell(why, Show::Plain)));
    }
    Ok(())
}
