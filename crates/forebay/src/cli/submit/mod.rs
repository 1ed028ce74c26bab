//! `forebay submit`: jobs from files, standard input or arguments.

mod request;
pub(super) mod source;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use forebay_core::job::Priority;
use forebay_core::time::{Millis, Timestamp};
use futures_util::{StreamExt as _, stream};
use http::HeaderValue;
use serde_json::{Value, json};

use super::client::{Ask, Client, IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::rows;
use super::values::{Assignment, duration, pair};
use super::{follow, progress};
use request::Takes;
use source::{Content, Source};

const SUBMITTED_AT_ONCE: usize = 8;
const WAITED_FOR_AT_ONCE: usize = 16;

/// Arguments of `forebay submit`.
#[derive(Debug, Clone, Args)]
pub struct SubmitArgs {
    /// The task's name, or name@revision
    pub task: String,
    /// Files, each one a job; `-` is standard input. For `extract` tasks a document, else the prompt
    #[arg(value_name = "FILE|-")]
    pub files: Vec<PathBuf>,
    /// The text of a document, for `extract` tasks
    #[arg(long, value_name = "TEXT", group = "given", conflicts_with = "files")]
    pub text: Option<String>,
    /// The prompt, for `llm` tasks
    #[arg(long, value_name = "TEXT", group = "given", conflicts_with = "files")]
    pub prompt: Option<String>,
    /// The whole input, as JSON
    #[arg(long, value_name = "JSON", group = "given", conflicts_with = "files", value_parser = json_value)]
    pub input: Option<Value>,
    /// Sets a member of the request by its JSON Pointer; the value is JSON, or else text
    #[arg(long, value_name = "/POINTER=VALUE")]
    pub set: Vec<Assignment>,
    /// Makes the same command a second time find the first one's job (of several files, each its own)
    #[arg(long, value_name = "KEY", help_heading = "When and how")]
    pub idempotency_key: Option<String>,
    /// high, normal or low
    #[arg(long, value_parser = priority, help_heading = "When and how")]
    pub priority: Option<Priority>,
    /// How long the job may take: 500ms, 10s, 5m, 2h, 7d [default: the task's]
    #[arg(long, value_parser = duration, value_name = "SPAN", help_heading = "When and how")]
    pub ttl: Option<Millis>,
    /// Until when it may take, as 2026-12-01T10:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "ttl", help_heading = "When and how")]
    pub deadline: Option<Timestamp>,
    /// How long it waits before it is due
    #[arg(long, value_parser = duration, value_name = "SPAN", help_heading = "When and how")]
    pub delay: Option<Millis>,
    /// Kept with the job and shown in its events
    #[arg(long, value_parser = pair, value_name = "NAME=VALUE", help_heading = "When and how")]
    pub metadata: Vec<(String, String)>,
    /// Waits for the end and prints the result; the exit code tells how it ended
    #[arg(long, help_heading = "When and how")]
    pub wait: bool,
    #[command(flatten)]
    connection: Connection,
}

fn json_value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))
}

fn priority(name: &str) -> Result<Priority, String> {
    Priority::from_name(name).ok_or_else(|| "expected high, normal or low".to_owned())
}

/// A job that the server has.
struct Accepted {
    /// The file it came from, where there are several.
    file: Option<String>,
    job_id: String,
    answer: Value,
}

/// Submits, and waits where asked to.
pub async fn run(args: SubmitArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let submission = Submission::prepare(&args, &client).await?;
    let (accepted, exit) = submission.submit_all(output).await?;
    if !args.wait {
        return Ok(exit);
    }
    match accepted.as_slice() {
        [one] if one.file.is_none() => wait_for_one(&client, one, output).await,
        many => Ok(exit.worst(wait_for_all(&client, many, output).await?)),
    }
}

struct Submission<'a> {
    args: &'a SubmitArgs,
    client: &'a Client,
    sources: Vec<Source>,
    takes: Option<Takes>,
}

impl<'a> Submission<'a> {
    async fn prepare(args: &'a SubmitArgs, client: &'a Client) -> Result<Self, CliError> {
        let sources: Vec<_> = args.files.iter().map(|file| Source::of(file)).collect();
        if sources.iter().filter(|source| **source == Source::Stdin).count() > 1 {
            return Err(CliError::usage("standard input is named twice", "write `-` once"));
        }
        if sources.is_empty() && args.input().is_none() && args.set.is_empty() {
            let fix = "name a FILE or `-`, or give --prompt, --text or --input";
            return Err(CliError::usage("there is nothing to submit", fix));
        }
        let takes = if sources.is_empty() { None } else { Some(ask_takes(client, &args.task).await?) };
        Ok(Self { args, client, sources, takes })
    }

    /// Submits everything. A file that is refused does not hold up the others; a server that is gone does.
    async fn submit_all(&self, output: &Output) -> Result<(Vec<Accepted>, Exit), CliError> {
        if self.sources.len() <= 1 {
            let accepted = self.submit(self.sources.first()).await?;
            if !self.args.wait {
                show_accepted(&accepted, output)?;
            }
            return Ok((vec![accepted], Exit::Done));
        }
        let bar = progress::bar(output, self.sources.len(), "submitting");
        let mut submitted =
            stream::iter(&self.sources).map(|source| self.submit(Some(source))).buffered(SUBMITTED_AT_ONCE);
        let (mut accepted, mut exit) = (Vec::new(), Exit::Done);
        while let Some(outcome) = submitted.next().await {
            match outcome {
                Ok(one) => {
                    if !self.args.wait {
                        bar.suspend(|| show_accepted(&one, output))?;
                    }
                    accepted.push(one);
                }
                Err(error @ (CliError::Unreachable { .. } | CliError::OutputClosed)) => return Err(error),
                Err(error) => {
                    bar.suspend(|| output.error(&error));
                    exit = exit.worst(error.exit());
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok((accepted, exit))
    }

    async fn submit(&self, source: Option<&Source>) -> Result<Accepted, CliError> {
        let is_one_of_many = self.sources.len() > 1;
        let name = source.map(Source::name).unwrap_or_default();
        let submitted = self.send(source, &name, is_one_of_many).await;
        let answer = submitted.map_err(|error| if is_one_of_many { error.about(&name) } else { error })?;
        let job_id = answer.get("job_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Accepted { file: is_one_of_many.then_some(name), job_id, answer })
    }

    async fn send(
        &self,
        source: Option<&Source>,
        name: &str,
        is_one_of_many: bool,
    ) -> Result<Value, CliError> {
        let input = match source.zip(self.takes) {
            Some((source, takes)) => Some(self.input(&source.read().await?, name, takes).await?),
            None => self.args.input(),
        };
        let given = self.args.idempotency_key.as_deref();
        let key = request::idempotency_key(given, name, is_one_of_many, rand::random());
        let ask = Ask::post(&["v1", "jobs"]).json(&request::body(self.args, input)?);
        let answer = self.client.send(ask.header(IDEMPOTENCY_KEY, &key)?).await?;
        let mut body = answer.json()?;
        if answer.headers.contains_key(IDEMPOTENT_REPLAYED) {
            body["replayed"] = json!(true);
        }
        Ok(body)
    }

    async fn input(&self, content: &Content, name: &str, takes: Takes) -> Result<Value, CliError> {
        if takes != Takes::Document {
            return takes.text_input(content, name);
        }
        let media_type = HeaderValue::from_static(content.media_type);
        let upload = Ask::post(&["v1", "documents"]).bytes(media_type, content.bytes.clone());
        // A document is known by its digest, so that sending it again changes nothing.
        let upload = upload.repeatable().within(Duration::from_secs(600));
        let answer = self.client.json(upload).await?;
        Ok(json!({ "document": answer.get("document_id") }))
    }
}

impl SubmitArgs {
    /// The input that arguments give.
    fn input(&self) -> Option<Value> {
        let text = self.text.as_ref().map(|text| json!({ "text": text }));
        let prompt = self.prompt.as_ref().map(|prompt| json!({ "prompt": prompt }));
        self.input.clone().or(text).or(prompt)
    }
}

async fn ask_takes(client: &Client, task: &str) -> Result<Takes, CliError> {
    let (name, _) = task.split_once('@').unwrap_or((task, ""));
    match client.json(Ask::get(&["v1", "tasks", name])).await {
        Ok(task) => Takes::of(&task),
        Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => {
            Err(unknown_task(client, name, error).await)
        }
        Err(error) => Err(error),
    }
}

/// Says which tasks there are, to one who named another.
async fn unknown_task(client: &Client, name: &str, error: CliError) -> CliError {
    let CliError::Problem(mut problem) = error else { return error };
    let list = client.json(Ask::get(&["v1", "tasks"])).await.unwrap_or_default();
    let names: Vec<_> = rows(&list).iter().filter_map(|task| task.get("name")?.as_str()).collect();
    problem.title = "There is no such task".to_owned();
    problem.detail = Some(format!("`{name}` is none of the server's tasks: {}", names.join(", ")));
    CliError::Problem(problem)
}

fn show_accepted(accepted: &Accepted, output: &Output) -> Result<(), CliError> {
    let Accepted { file, job_id, answer } = accepted;
    if output.is_json() {
        return output.record(&with_file(answer.clone(), file.as_deref()));
    }
    let state = answer.get("state").and_then(Value::as_str).unwrap_or_default();
    let again = if answer.get("replayed").is_some() { "  (submitted before)" } else { "" };
    match file {
        Some(file) => output.line(&format!("{job_id}  {state}  {file}{again}")),
        None => {
            output.line(&format!("{job_id}  {state}{again}"))?;
            output.note(&format!("follow it: forebay watch {job_id}"));
            Ok(())
        }
    }
}

fn with_file(mut value: Value, file: Option<&str>) -> Value {
    if let Some((file, members)) = file.zip(value.as_object_mut()) {
        members.insert("file".to_owned(), json!(file));
    }
    value
}

/// The job as it ended, with its result where it has one.
async fn ended(client: &Client, accepted: &Accepted) -> Result<(Value, Exit), CliError> {
    let mut job = follow::settled(client, &accepted.job_id).await?;
    let exit = follow::exit(&job)?;
    if exit == Exit::Done {
        job["result"] = follow::result(client, &accepted.job_id).await?;
    }
    Ok((with_file(job, accepted.file.as_deref()), exit))
}

async fn wait_for_one(client: &Client, accepted: &Accepted, output: &Output) -> Result<Exit, CliError> {
    let spinner = progress::spinner(output, &format!("waiting for {}", accepted.job_id));
    let ended = ended(client, accepted).await;
    spinner.finish_and_clear();
    let (job, exit) = ended?;
    if output.is_json() {
        output.record(&job)?;
    } else if let Some(result) = job.pointer("/result/output") {
        output.result(result)?;
    } else {
        output.note(&ending(&job, accepted));
    }
    Ok(exit)
}

fn ending(job: &Value, accepted: &Accepted) -> String {
    let state = job.get("state").and_then(Value::as_str).unwrap_or_default();
    let failure = follow::failure(job).map(|failure| format!(": {failure}")).unwrap_or_default();
    format!("{state}{failure}\n  see it: forebay get {}", accepted.job_id)
}

async fn wait_for_all(client: &Client, accepted: &[Accepted], output: &Output) -> Result<Exit, CliError> {
    let bar = progress::bar(output, accepted.len(), "waiting");
    let mut ends = stream::iter(accepted)
        .map(|one| async move { (one, ended(client, one).await) })
        .buffered(WAITED_FOR_AT_ONCE);
    let mut worst = Exit::Done;
    while let Some((one, ended)) = ends.next().await {
        let (job, exit) = ended?;
        worst = worst.worst(exit);
        bar.suspend(|| show_ended(one, &job, output))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(worst)
}

fn show_ended(accepted: &Accepted, job: &Value, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(job);
    }
    let state = job.get("state").and_then(Value::as_str).unwrap_or_default();
    let failure = follow::failure(job).map(|failure| format!("  {failure}")).unwrap_or_default();
    let file = accepted.file.as_deref().unwrap_or_default();
    output.line(&format!("{}  {state}  {file}{failure}", accepted.job_id))
}
