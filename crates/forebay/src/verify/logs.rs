//! What was seen from outside: the provider's log of calls, and a client's log of what it asked and was told.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::records::Id;

/// Why a log can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}:{line}: {problem}")]
pub struct BadLog {
    path: String,
    line: usize,
    problem: String,
}

/// A call as the provider saw it: a line of `GET /_sim/requests`, of which more members are not read.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "the members of the log, described in docs/simulator.md")]
pub struct Call {
    pub seq: u64,
    pub forebay_attempt: Option<String>,
    pub status: Option<u16>,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub ended: String,
    pub started_at_ms: f64,
    pub ended_at_ms: Option<f64>,
    #[serde(default)]
    pub retry_after_ms: Option<i64>,
}

impl Call {
    /// The attempt that the call names.
    pub fn attempt(&self) -> Option<Id> {
        Id::parse(self.forebay_attempt.as_deref()?, "att")
    }

    /// When it began, in milliseconds since 1970.
    pub fn began(&self) -> i64 {
        millis(self.started_at_ms)
    }

    /// Whether the whole answer went out, and it was no error.
    pub fn succeeded(&self) -> bool {
        self.ended == "complete" && self.status == Some(200)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "times of this era are far within the range")]
fn millis(written: f64) -> i64 {
    written.floor() as i64
}

/// A line of a client's log. `docs/verify.md` describes the members.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Told {
    /// A job was submitted.
    Submit(Submit),
    /// A stream showed an event.
    Event(Shown),
}

/// A submit, and what was answered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "described in docs/verify.md")]
pub struct Submit {
    pub tenant: String,
    pub idempotency_key: Option<String>,
    pub body_sha256: String,
    pub sent_at: String,
    pub answered_at: Option<String>,
    pub status: Option<u16>,
    pub job_id: Option<String>,
    #[serde(default)]
    pub replayed: bool,
    pub retry_after: Option<String>,
}

impl Submit {
    /// The job that the answer names.
    pub fn job(&self) -> Option<Id> {
        Id::parse(self.job_id.as_deref()?, "job")
    }

    /// Whether the answer promised that the job will be done.
    pub fn is_accepted(&self) -> bool {
        self.status == Some(202)
    }

    /// When the answer came, in milliseconds since 1970.
    pub fn answered(&self) -> Option<i64> {
        Some(self.answered_at.as_ref()?.parse::<jiff::Timestamp>().ok()?.as_millisecond())
    }
}

/// An event as a stream showed it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "described in docs/verify.md")]
pub struct Shown {
    pub tenant: String,
    pub stream: String,
    pub event_id: String,
}

/// Reads a provider's log. The last line with a `seq` is how that call stands.
///
/// # Errors
///
/// Names the first line that can't be read.
pub fn calls(path: &Path) -> Result<Vec<Call>, BadLog> {
    let mut calls: Vec<Call> = lines(path)?;
    calls.sort_by_key(|call| call.seq);
    calls.reverse();
    calls.dedup_by_key(|call| call.seq);
    calls.reverse();
    Ok(calls)
}

/// Reads a client's log.
///
/// # Errors
///
/// Names the first line that can't be read.
pub fn told(path: &Path) -> Result<Vec<Told>, BadLog> {
    let told: Vec<Told> = lines(path)?;
    Ok(told)
}

/// The lines of a log, in their order. A last line without an end is what a killed writer leaves behind, and is
/// not read.
fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, BadLog> {
    let bad = |line, problem| BadLog { path: path.display().to_string(), line, problem };
    let bytes = std::fs::read(path).map_err(|error| bad(0, error.to_string()))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').enumerate();
    let written = lines.filter(|(_, line)| !line.is_empty());
    written
        .map(|(nth, line)| {
            // By way of a value: an integer where a decimal is expected, and the like, are no faults of a log.
            let value: Value =
                serde_json::from_slice(line).map_err(|error| bad(nth + 1, error.to_string()))?;
            T::deserialize(value).map_err(|error| bad(nth + 1, error.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_last_line_of_a_call_counts_and_a_half_one_does_not() {
        let line = |seq: u64, ended: &str| {
            format!(
                "{{\"seq\":{seq},\"status\":200,\"input_tokens\":1,\"output_tokens\":2,\"ended\":\"{ended}\",\
                 \"started_at_ms\":5.5,\"other\":1}}\n"
            )
        };
        let text = [line(1, "running"), line(2, "complete"), line(1, "complete"), "{\"seq\":3".to_owned()];
        let calls = calls(file(&text.concat()).path()).unwrap();
        let seen: Vec<_> = calls.iter().map(|call| (call.seq, call.ended.as_str(), call.began())).collect();
        assert_eq!(seen, [(1, "complete", 5), (2, "complete", 5)]);
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let file = file(
            "{\"kind\":\"event\",\"tenant\":\"t\",\"stream\":\"s\",\"event_id\":\"e\"}\n{\"kind\":\"x\"}\n",
        );
        let error = told(file.path()).unwrap_err().to_string();
        assert!(error.contains(":2: "), "{error}");
    }
}
