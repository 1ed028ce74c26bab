//! `forebay get`: one job, its result, its attempts, its steps, or what it waits for.

use clap::Args;
use forebay_core::id::JobId;
use forebay_core::job::State;
use serde_json::Value;

use super::client::Ask;
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::follow;
use super::output::Output;
use super::table::{self, Column, Show, cell};
use super::values::shown_money;

/// Arguments of `forebay get`.
#[derive(Debug, Clone, Args)]
pub struct GetArgs {
    /// The job's id
    pub job: JobId,
    /// Prints the result and nothing else
    #[arg(long, group = "part")]
    pub result: bool,
    /// Every try: which provider, what it cost, what came of it
    #[arg(long, group = "part")]
    pub attempts: bool,
    /// The steps so far
    #[arg(long, group = "part")]
    pub steps: bool,
    /// What the job waits for, and how long
    #[arg(long, group = "part")]
    pub explain: bool,
    #[command(flatten)]
    connection: Connection,
}

const ATTEMPTS: [Column; 10] = [
    ("ATTEMPT", "/attempt_id", Show::Plain),
    ("STEP", "/step", Show::Plain),
    ("NUMBER", "/number", Show::Plain),
    ("POOL", "/pool", Show::Plain),
    ("MODEL", "/model", Show::Plain),
    ("OUTCOME", "/outcome", Show::Plain),
    ("FAILURE", "/failure_class", Show::Plain),
    ("STARTED", "/started_at", Show::Plain),
    ("COST", "/cost_micros", Show::Money),
    ("WHAT WAS SAID", "/message", Show::Plain),
];

const STEPS: [Column; 5] = [
    ("STEP", "/step", Show::Plain),
    ("KIND", "/kind", Show::Plain),
    ("STATE", "/state", Show::Plain),
    ("ATTEMPTS", "/attempts", Show::Plain),
    ("SUMMARY", "/summary", Show::Plain),
];

/// Shows a job.
pub async fn run(args: GetArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let job_id = args.job.to_string();
    let part = args.part();
    let path = ["v1", "jobs", &job_id];
    let answer = match part {
        Some(part) => client.json(Ask::get(&[&path[..], &[part]].concat())).await?,
        None => client.json(Ask::get(&path)).await?,
    };
    match part {
        _ if output.is_json() => show_json(&answer, output)?,
        Some("result") => output.result(answer.get("output").unwrap_or(&answer))?,
        Some("attempts") => output.table(table::of(table::rows(&answer), &ATTEMPTS))?,
        Some("steps") => output.table(table::of(table::rows(&answer), &STEPS))?,
        Some(_) => explanation(&answer).iter().try_for_each(|line| output.line(line))?,
        None => description(&answer).iter().try_for_each(|line| output.line(line))?,
    }
    if part.is_none() || part == Some("explain") {
        next_steps(&answer, &job_id).iter().for_each(|step| output.note(step));
    }
    Ok(Exit::Done)
}

impl GetArgs {
    /// The last segment of the path.
    fn part(&self) -> Option<&'static str> {
        [
            (self.result, "result"),
            (self.attempts, "attempts"),
            (self.steps, "steps"),
            (self.explain, "explain"),
        ]
        .into_iter()
        .find_map(|(is_asked, part)| is_asked.then_some(part))
    }
}

/// A list as one record a row, everything else as one record.
fn show_json(answer: &Value, output: &Output) -> Result<(), CliError> {
    match answer.get("data").unwrap_or(answer).as_array() {
        Some(rows) => rows.iter().try_for_each(|row| output.record(row)),
        None => output.record(answer),
    }
}

/// A job as lines of a name and a value; what is absent has no line.
fn description(job: &Value) -> Vec<String> {
    let text = |pointer: &str| cell(job.pointer(pointer), Show::Plain);
    let revision = format!("@{}", text("/revision"));
    let is_done = job.get("state").and_then(Value::as_str) == Some(State::Succeeded.name());
    let result = if is_done { format!("forebay get {} --result", text("/job_id")) } else { String::new() };
    let lines = [
        ("job", text("/job_id")),
        ("task", format!("{}{} ({})", text("/task"), revision.trim_end_matches('@'), text("/kind"))),
        ("state", format!("{}, version {}", text("/state"), text("/state_version"))),
        ("failure", follow::failure(job).unwrap_or_default()),
        ("priority", text("/priority")),
        ("created", text("/created_at")),
        ("updated", text("/updated_at")),
        ("finished", text("/finished_at")),
        ("retry at", text("/retry_at")),
        ("deadline", text("/deadline")),
        ("attempts", attempts(job)),
        ("usage", usage(job)),
        ("metadata", metadata(job)),
        ("replay of", text("/replay_of")),
        ("replayed", text("/replayed_by")),
        ("review", text("/review_url")),
        ("result", result),
    ];
    let given = lines.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| format!("{name:<10} {value}")).collect()
}

/// What somebody does next who looks at a job that failed or needs a person.
pub(super) fn next_steps(job: &Value, job_id: &str) -> Vec<String> {
    match job.get("state").and_then(Value::as_str).and_then(State::from_name) {
        Some(State::FailedTerminal) => vec![
            format!("what the provider said to each try: forebay get {job_id} --attempts"),
            format!("do it again, once the reason is gone: forebay replay {job_id}"),
        ],
        Some(State::ReviewRequired) => vec![format!("decide it: forebay review show {job_id}")],
        _ => Vec::new(),
    }
}

fn attempts(job: &Value) -> String {
    let number = |pointer: &str| job.pointer(pointer).and_then(Value::as_u64);
    match (number("/attempts/made"), number("/attempts/max"), number("/generation")) {
        (Some(made), Some(max), Some(2..)) => {
            format!("{made} of {max} (generation {})", cell(job.get("generation"), Show::Plain))
        }
        (Some(made), Some(max), _) => format!("{made} of {max}"),
        _ => String::new(),
    }
}

fn usage(job: &Value) -> String {
    let Some(usage) = job.get("usage").filter(|usage| usage.is_object()) else { return String::new() };
    let text = |name: &str, show| cell(usage.get(name), show);
    let currency = text("currency", Show::Plain);
    let uncertain = usage.get("uncertain_micros").and_then(Value::as_i64).unwrap_or_default();
    let tail = match uncertain {
        0 => String::new(),
        micros => format!(", and {} {currency} that may have been billed", shown_money(micros)),
    };
    format!(
        "{} tokens in, {} out, {} {currency}{tail}",
        text("input_tokens", Show::Plain),
        text("output_tokens", Show::Plain),
        text("cost_micros", Show::Money),
    )
}

fn metadata(job: &Value) -> String {
    let members = job.get("metadata").and_then(Value::as_object);
    let pairs = members.into_iter().flatten();
    let pairs: Vec<_> =
        pairs.map(|(name, value)| format!("{name}={}", cell(Some(value), Show::Plain))).collect();
    pairs.join(" ")
}

/// What a job waits for, as lines.
fn explanation(explained: &Value) -> Vec<String> {
    let text = |value: &Value, pointer: &str| cell(value.pointer(pointer), Show::Plain);
    let mut lines = vec![format!("{:<10} {}", "state", text(explained, "/state"))];
    let waits = explained.get("waiting_for").and_then(Value::as_array);
    for wait in waits.into_iter().flatten() {
        let until = match text(wait, "/until") {
            until if until.is_empty() => until,
            until => format!(" (until {until})"),
        };
        let line = format!("{:<10} {}: {}{until}", "waits for", text(wait, "/kind"), text(wait, "/detail"));
        lines.push(line.trim_end_matches(": ").to_owned());
    }
    if explained.get("ahead").is_some_and(Value::is_number) {
        lines.push(format!("{:<10} {} jobs", "ahead", text(explained, "/ahead")));
    }
    if explained.get("eta").is_some_and(Value::is_object) {
        let (half, most) = (text(explained, "/eta/p50"), text(explained, "/eta/p90"));
        lines.push(format!("{:<10} {half}, or {most} in one of ten cases", "expected"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_is_described_by_what_it_has() {
        let job = json!({
            "job_id": "job_1", "task": "invoice", "kind": "extract", "revision": 3, "state": "REVIEW_REQUIRED",
            "state_version": 7, "failure": { "class": "policy_failed", "message": "the total is wrong" },
            "created_at": "2026-12-01T10:00:00.000Z", "result_url": "/v1/jobs/job_1/result", "generation": 2, "attempts": { "made": 2, "max": 4 },
            "usage": { "input_tokens": 812, "output_tokens": 240, "cost_micros": 1310, "uncertain_micros": 50,
                       "currency": "USD" },
            "metadata": { "order": "4711" },
        });
        insta::assert_snapshot!(description(&job).join("\n"), @r"
        job        job_1
        task       invoice@3 (extract)
        state      REVIEW_REQUIRED, version 7
        failure    policy_failed: the total is wrong
        created    2026-12-01T10:00:00.000Z
        attempts   2 of 4 (generation 2)
        usage      812 tokens in, 240 out, 0.00131 USD, and 0.00005 USD that may have been billed
        metadata   order=4711
        ");
    }

    #[test]
    fn waiting_is_explained() {
        let explained = json!({
            "state": "READY", "ahead": 412, "eta": { "p50": "2026-12-01T10:00:00.000Z", "p90": "2026-12-01T11:00:00.000Z" },
            "waiting_for": [{ "kind": "cooldown", "detail": "pool openai", "until": "2026-12-01T09:00:00.000Z" },
                            { "kind": "worker" }],
        });
        insta::assert_snapshot!(explanation(&explained).join("\n"), @r"
        state      READY
        waits for  cooldown: pool openai (until 2026-12-01T09:00:00.000Z)
        waits for  worker
        ahead      412 jobs
        expected   2026-12-01T10:00:00.000Z, or 2026-12-01T11:00:00.000Z in one of ten cases
        ");
    }
}
