//! Follows a job to where machines have nothing more to do.

use std::time::Duration;

use forebay_core::job::State;
use http::StatusCode;
use serde_json::Value;
use tokio::time::Instant;

use super::client::{Ask, Client, PREFER};
use super::error::CliError;
use super::exit::Exit;

/// How long the server is asked to hold an answer back.
const HOLD: Duration = Duration::from_secs(20);
/// How long a server may be gone, as when it is restarted, before the command gives up.
pub const OUTAGE: Duration = Duration::from_secs(60);

/// The job once it is terminal or waits for a person.
///
/// # Errors
///
/// When the server stays away, or refuses.
pub async fn settled(client: &Client, job_id: &str) -> Result<Value, CliError> {
    let mut last_answer = Instant::now();
    loop {
        let asked = Instant::now();
        let ask = Ask::get(&["v1", "jobs", job_id]).within(HOLD + Duration::from_secs(30));
        let ask = ask.header(PREFER, &format!("wait={}", HOLD.as_secs()))?;
        match client.send(ask).await {
            Ok(answer) if answer.status == StatusCode::NOT_MODIFIED => last_answer = Instant::now(),
            Ok(answer) => {
                last_answer = Instant::now();
                let job = answer.json()?;
                if state(&job)?.is_settled() {
                    return Ok(job);
                }
            }
            Err(error) if may_pass(&error) && last_answer.elapsed() < OUTAGE => {}
            Err(error) => return Err(error),
        }
        // A server that does not hold the answer back is not asked more often for it.
        tokio::time::sleep_until(asked + Duration::from_millis(500)).await;
    }
}

/// Whether a server that answers so, or not at all, may be back a moment later.
pub fn may_pass(error: &CliError) -> bool {
    matches!(error, CliError::Unreachable { .. })
        || error.problem().is_some_and(|problem| problem.status >= 500)
}

/// The result of a job that succeeded.
///
/// # Errors
///
/// When there is none, or the server can't be asked.
pub async fn result(client: &Client, job_id: &str) -> Result<Value, CliError> {
    client.json(Ask::get(&["v1", "jobs", job_id, "result"])).await
}

/// The state of a job.
///
/// # Errors
///
/// When the answer is no job, or of a state that this build does not know.
pub fn state(job: &Value) -> Result<State, CliError> {
    let name = job.get("state").and_then(Value::as_str).unwrap_or_default();
    State::from_name(name).ok_or_else(|| {
        CliError::Failed(format!("the server names a state `{name}` that this build does not know"))
    })
}

/// What a state means to a command that waited.
///
/// # Errors
///
/// As [`state`].
pub fn exit(job: &Value) -> Result<Exit, CliError> {
    state(job).map(Exit::of_state)
}

/// Why a job failed or waits for a person: `policy_failed: the total is wrong`.
pub fn failure(job: &Value) -> Option<String> {
    let failure = job.get("failure").filter(|failure| failure.is_object())?;
    let class = failure.get("class").and_then(Value::as_str).unwrap_or("unknown");
    let message = failure.get("message").and_then(Value::as_str).unwrap_or_default();
    Some(if message.is_empty() { class.to_owned() } else { format!("{class}: {message}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_that_waited_tells_how_it_ended() {
        let job =
            json!({ "state": "REVIEW_REQUIRED", "failure": { "class": "policy_failed", "message": "no" } });
        assert_eq!(exit(&job).unwrap(), Exit::ReviewRequired);
        assert_eq!(failure(&job).as_deref(), Some("policy_failed: no"));
        assert_eq!(failure(&json!({ "failure": { "class": "budget" } })).as_deref(), Some("budget"));
        assert_eq!(failure(&json!({})), None);
    }

    #[test]
    fn an_unknown_state_is_no_state() {
        assert_eq!(state(&json!({ "state": "PAUSED" })).unwrap_err().exit(), Exit::Failed);
        assert!(state(&json!({})).is_err());
    }
}
