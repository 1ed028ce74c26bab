//! `forebay watch`: events as they happen, through lost connections.

use std::time::Duration;

use clap::Args;
use forebay_core::id::JobId;
use forebay_core::job::State;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::follow;
use super::output::Output;
use super::sse::{SseEvent, SseReader};
use super::table::{Show, cell};

/// How long a server may be gone before the command gives up.
const OUTAGE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_secs(1);

/// Arguments of `forebay watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// Only this job, from its first event to its end; without it every event from now on
    pub job: Option<JobId>,
    #[command(flatten)]
    connection: Connection,
}

/// Prints events. With a job the command ends with it, and the exit code tells how it ended.
pub async fn run(args: WatchArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let job_id = args.job.map(|job| job.to_string());
    let mut watch = Watch { client: &client, job_id: job_id.as_deref(), cursor: None, seen: None, output };
    loop {
        match watch.follow_connection().await {
            Ok(Some(exit)) => return Ok(exit),
            Ok(None) => output.note("the connection was lost; going on where it broke off"),
            Err(error) if watch.may_pass(&error) => tracing::debug!(%error, "the server is gone"),
            Err(error) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

struct Watch<'a> {
    client: &'a Client,
    job_id: Option<&'a str>,
    /// After which event to go on.
    cursor: Option<String>,
    /// When the server last sent something; absent as long as nobody knows whether there is one.
    seen: Option<Instant>,
    output: &'a Output,
}

impl Watch<'_> {
    fn may_pass(&self, error: &CliError) -> bool {
        let is_recent = self.seen.is_some_and(|seen| seen.elapsed() < OUTAGE);
        is_recent && matches!(error, CliError::Unreachable { .. })
    }

    /// Reads one connection to its end; tells how the job ended once it has.
    async fn follow_connection(&mut self) -> Result<Option<Exit>, CliError> {
        let response = match self.job_id {
            Some(job_id) => {
                self.client.stream(&["v1", "jobs", job_id, "events"], self.cursor.as_deref()).await?
            }
            None => self.client.stream(&["v1", "events"], self.cursor.as_deref()).await?,
        };
        let mut pieces = response.bytes_stream();
        let mut reader = SseReader::default();
        while let Some(Ok(piece)) = pieces.next().await {
            self.seen = Some(Instant::now());
            for event in reader.feed(&piece) {
                let data = serde_json::from_str(&event.data).unwrap_or(Value::Null);
                self.show(&event, &data)?;
                if let Some(exit) = self.end_of_job(&data).await? {
                    return Ok(Some(exit));
                }
            }
            if let Some(id) = reader.last_id() {
                self.cursor = Some(id.to_owned());
            }
        }
        Ok(None)
    }

    fn show(&self, event: &SseEvent, data: &Value) -> Result<(), CliError> {
        match event.name.as_str() {
            "closed" => {
                let detail = cell(data.get("detail"), Show::Plain);
                self.output.note(&format!("the server ends the stream: {detail}"));
                Ok(())
            }
            _ if self.output.is_json() => self.output.record(data),
            _ => self.output.line(&line(event, data)),
        }
    }

    /// How the job ended, if it has. A review in the job's past is no end: whether it is still owed, the job
    /// itself says.
    async fn end_of_job(&self, data: &Value) -> Result<Option<Exit>, CliError> {
        let Some(job_id) = self.job_id else { return Ok(None) };
        Ok(match state_of(data) {
            Some(state) if state.is_terminal() => Some(Exit::of_state(state)),
            Some(State::ReviewRequired) => {
                let job = self.client.json(Ask::get(&["v1", "jobs", job_id])).await?;
                let is_owed = follow::state(&job)? == State::ReviewRequired;
                is_owed.then_some(Exit::ReviewRequired)
            }
            _ => None,
        })
    }
}

/// The state that an event tells, or a snapshot.
fn state_of(data: &Value) -> Option<State> {
    let state = data.pointer("/data/state").or_else(|| data.pointer("/job/state"));
    State::from_name(state?.as_str()?)
}

/// An event on one line: `2026-12-01T10:00:00.000Z  job_...  invoice  job.failed  FAILED_TERMINAL  deadline`.
fn line(event: &SseEvent, data: &Value) -> String {
    let text = |pointer: &str| cell(data.pointer(pointer), Show::Plain);
    let failure = data.get("data").and_then(follow::failure).unwrap_or_default();
    let name = format!("{:<20}", event.name);
    let snapshot = text("/reason");
    let parts =
        [text("/time"), text("/subject"), text("/data/task"), name, text("/data/state"), failure, snapshot];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(name: &str, data: &Value) -> SseEvent {
        SseEvent { id: "7".to_owned(), name: name.to_owned(), data: data.to_string() }
    }

    #[test]
    fn an_event_is_one_line() {
        let envelope = json!({
            "time": "2026-12-01T10:00:00.000Z", "subject": "job_1",
            "data": { "task": "invoice", "state": "FAILED_TERMINAL", "failure": { "class": "deadline", "message": "" } },
        });
        assert_eq!(
            line(&event("job.failed", &envelope), &envelope),
            "2026-12-01T10:00:00.000Z  job_1  invoice  job.failed            FAILED_TERMINAL  deadline"
        );
        let snapshot = json!({ "reason": "expired", "counts": {} });
        assert_eq!(line(&event("snapshot", &snapshot), &snapshot), "snapshot              expired");
    }

    #[test]
    fn events_and_snapshots_tell_a_state() {
        assert_eq!(state_of(&json!({ "data": { "state": "RUNNING" } })), Some(State::Running));
        let snapshot = json!({ "reason": "expired", "job": { "state": "SUCCEEDED" } });
        assert_eq!(state_of(&snapshot), Some(State::Succeeded));
        assert_eq!(state_of(&json!({ "code": "internal" })), None);
    }

    #[tokio::test]
    async fn the_end_of_the_job_ends_the_command() {
        let client = Client::new(reqwest::Url::parse("http://127.0.0.1:1").unwrap(), None).unwrap();
        let output = Output::into(true, std::io::sink(), std::io::sink());
        let mut watch =
            Watch { client: &client, job_id: Some("job_1"), cursor: None, seen: None, output: &output };
        let of_state = |state: &str| json!({ "data": { "state": state } });
        assert_eq!(watch.end_of_job(&of_state("RUNNING")).await.unwrap(), None);
        assert_eq!(watch.end_of_job(&of_state("SUCCEEDED")).await.unwrap(), Some(Exit::Done));
        assert_eq!(watch.end_of_job(&of_state("CANCELLED")).await.unwrap(), Some(Exit::JobFailed));
        watch.job_id = None;
        assert_eq!(watch.end_of_job(&of_state("CANCELLED")).await.unwrap(), None);
    }
}
