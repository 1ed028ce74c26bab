//! `forebay review`: decisions that persons owe. Without a subcommand it walks through the queue; with one it does one
//! thing, for scripts.

mod correction;
mod export;
mod list;
mod show;
mod walk;

use clap::{Args, Subcommand};
use forebay_core::id::JobId;
use forebay_core::time::{Millis, Timestamp};
use http::Method;
use serde_json::{Value, json};

use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::{Show, cell};
use super::values::duration;
use super::{as_client, logging};
use correction::CorrectArgs;
use export::ExportArgs;
use list::Filter;

/// Arguments of `forebay review`.
#[derive(Debug, Clone, Args)]
pub struct ReviewArgs {
    #[command(subcommand)]
    command: Option<ReviewCommand>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    connection: Connection,
}

/// What to do with reviews.
#[derive(Debug, Clone, Subcommand)]
enum ReviewCommand {
    /// Open reviews, oldest first
    List(ListArgs),
    /// One review: findings, values, and the text with the places that they were taken from
    Show {
        /// The job's id
        job: JobId,
        /// All of a long text
        #[arg(long)]
        full: bool,
    },
    /// Keeps others from deciding a review for a while
    Claim {
        /// The job's id
        job: JobId,
        /// For how long, from 1s to 8h [default: 15m]
        #[arg(long = "for", value_parser = duration, value_name = "SPAN")]
        span: Option<Millis>,
    },
    /// Gives a review back
    Release {
        /// The job's id
        job: JobId,
    },
    /// Takes the output as it is
    Approve(DecideArgs),
    /// Takes another output, which must satisfy the task's schema
    Correct(CorrectArgs),
    /// Refuses the output: the job fails
    Reject(DecideArgs),
    /// Has the machines do it again
    Rerun(RerunArgs),
    /// Prints what persons have decided as JSON lines: an evaluation set
    Export(ExportArgs),
}

/// Which reviews to list.
#[derive(Debug, Clone, Args)]
struct ListArgs {
    #[command(flatten)]
    filter: Filter,
    /// How many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// All of them, page by page
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// A decision.
#[derive(Debug, Clone, Args)]
struct DecideArgs {
    /// The job's id
    job: JobId,
    /// What there is to say about it
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// The job's version that was looked at [default: the one there is now]
    #[arg(long, value_name = "N")]
    version: Option<u64>,
}

/// A rerun.
#[derive(Debug, Clone, Args)]
struct RerunArgs {
    #[command(flatten)]
    decide: DecideArgs,
    /// How long the machines have: 10m, 2h [default: the task's]
    #[arg(long, value_parser = duration, value_name = "SPAN")]
    ttl: Option<Millis>,
    /// Until when they have time, as 2026-12-01T10:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "ttl")]
    deadline: Option<Timestamp>,
}

/// Walks through the queue, or does what is asked for.
pub async fn run(args: ReviewArgs, output: &Output) -> Result<Exit, CliError> {
    let Some(command) = args.command else {
        if output.is_json() {
            let fix =
                "name what to do: `forebay review list --json`, or approve, correct, reject, rerun, export";
            return Err(CliError::usage("the walk through the queue is for persons and prints no JSON", fix));
        }
        // The walk hears signals by itself: it gives back what it holds, and its editor hears some of them.
        logging::start(logging::LogFormat::Text, "warn")?;
        return walk::walk(args.connection.client()?, args.filter.available(), output).await;
    };
    if args.filter.is_given() {
        let fix = "write them behind it: `forebay review list --task invoice`";
        return Err(CliError::usage("the filters stand before the subcommand", fix));
    }
    as_client(one(command, args.connection.client()?, output)).await
}

async fn one(command: ReviewCommand, client: Client, output: &Output) -> Result<Exit, CliError> {
    match command {
        ReviewCommand::List(args) => {
            let most = usize::try_from(args.limit).unwrap_or(usize::MAX);
            list::list(&client, &args.filter, (!args.all).then_some(most), output).await?;
        }
        ReviewCommand::Show { job, full } => {
            let review = fetch(&client, &job.to_string()).await?;
            if output.is_json() {
                output.record(&review)?;
            } else {
                show::lines(&review, full).iter().try_for_each(|line| output.inked(line))?;
            }
        }
        ReviewCommand::Claim { job, span } => {
            held(&claim(&client, &job.to_string(), span).await?, output)?;
        }
        ReviewCommand::Release { job } => held(&release(&client, &job.to_string()).await?, output)?,
        ReviewCommand::Approve(args) => decide(&client, &args, "approve", None, output).await?,
        ReviewCommand::Reject(args) => decide(&client, &args, "reject", None, output).await?,
        ReviewCommand::Rerun(args) => {
            let ttl = args.ttl.map(|span| ("ttl_ms", json!(span)));
            let time = ttl.or(args.deadline.map(|at| ("deadline", json!(at))));
            decide(&client, &args.decide, "rerun", time, output).await?;
        }
        ReviewCommand::Correct(args) => correction::run(&client, &args, output).await?,
        ReviewCommand::Export(args) => export::run(&client, &args, output).await?,
    }
    Ok(Exit::Done)
}

async fn decide(
    client: &Client,
    args: &DecideArgs,
    name: &str,
    time: Option<(&str, Value)>,
    output: &Output,
) -> Result<(), CliError> {
    let job = args.job.to_string();
    let seen = match args.version {
        Some(version) => version,
        None => version(&fetch(client, &job).await?),
    };
    let mut body = decision(name, seen, None, args.comment.as_deref());
    if let Some((member, value)) = time {
        body[member] = value;
    }
    decided(&send(client, &job, &body).await?, output)
}

/// The open or latest review of a job.
async fn fetch(client: &Client, job: &str) -> Result<Value, CliError> {
    client.json(Ask::get(&["v1", "reviews", job])).await
}

/// The job's version that a review shows.
fn version(review: &Value) -> u64 {
    review.get("state_version").and_then(Value::as_u64).unwrap_or_default()
}

/// A decision as it is sent.
fn decision(name: &str, seen: u64, output: Option<&Value>, comment: Option<&str>) -> Value {
    let mut body = json!({ "decision": name, "state_version": seen });
    if let Some(output) = output {
        body["output"] = output.clone();
    }
    if let Some(comment) = comment {
        body["comment"] = json!(comment);
    }
    body
}

/// Sends a decision. Sent twice it is made once.
async fn send(client: &Client, job: &str, body: &Value) -> Result<Value, CliError> {
    client.json(Ask::post(&["v1", "reviews", job]).json(body).repeatable()).await
}

async fn claim(client: &Client, job: &str, span: Option<Millis>) -> Result<Value, CliError> {
    let body = span.map_or_else(|| json!({}), |span| json!({ "for_ms": span.get() }));
    client.json(Ask::post(&["v1", "reviews", job, "claim"]).json(&body).repeatable()).await
}

async fn release(client: &Client, job: &str) -> Result<Value, CliError> {
    client.json(Ask::new(Method::DELETE, &["v1", "reviews", job, "claim"])).await
}

/// Says what was decided, and what is in doubt all the same.
fn decided(decided: &Value, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(decided);
    }
    let get = |name: &str| cell(decided.get(name), Show::Plain);
    output.line(&format!("{}  {}: the job is {}", get("job_id"), get("decision"), get("state")))?;
    let remaining = decided.get("remaining_findings").and_then(Value::as_array).map(Vec::as_slice);
    for finding in remaining.unwrap_or_default() {
        output.note(&format!("  on record all the same: {}", show::said(finding)));
    }
    Ok(())
}

fn held(review: &Value, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(review);
    }
    let get = |pointer: &str| cell(review.pointer(pointer), Show::Plain);
    let claim = match get("/claim/claimed_until") {
        nobody if nobody.is_empty() => "nobody holds it".to_owned(),
        until => format!("{} holds it until {until}", get("/claim/claimed_by_name")),
    };
    output.line(&format!("{}  {claim}", get("/job_id")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_sent_with_what_it_has() {
        let expected = json!({ "decision": "approve", "state_version": 3 });
        assert_eq!(decision("approve", 3, None, None), expected);
        let expected = json!({ "decision": "correct", "state_version": 3, "output": [], "comment": "why" });
        assert_eq!(decision("correct", 3, Some(&json!([])), Some("why")), expected);
    }
}
