//! Sends the jobs of a file, call after call. The same file again makes the same calls with the same keys, so that it
//! finds what an earlier try has done and goes on from there.

use std::time::Duration;

use bytes::Bytes;
use forebay_core::digest::Digest;
use http::HeaderValue;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::lines::{self, Written};
use crate::cli::client::{Answer, Ask, Client, IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED};
use crate::cli::error::CliError;
use crate::cli::follow::{self, OUTAGE};
use crate::cli::output::Output;
use crate::cli::table::{Show, cell, rows};

/// How long it waits, one time after the other, while a limit takes no job at all.
const PAUSES: [u64; 10] = [1, 2, 4, 8, 15, 30, 30, 30, 30, 30];

/// Sends jobs and shows what became of each.
pub struct Sending<'a> {
    pub client: &'a Client,
    pub output: &'a Output,
    pub bar: &'a ProgressBar,
    /// The batches that hold them.
    pub batches: Vec<String>,
    pub accepted: usize,
    pub before: usize,
    pub refused: usize,
}

impl Sending<'_> {
    /// Sends the jobs of one call. What a limit refuses is sent again, in a call of its own, until it is taken or the
    /// limit stays; and once also what an earlier try was refused, since the reason may be gone.
    pub async fn call(&mut self, jobs: Vec<&Written>) -> Result<(), CliError> {
        let mut waiting = jobs;
        let mut pauses = PAUSES.iter();
        for round in 0_usize.. {
            let answer = self.post(&waiting, round).await?;
            let is_known = answer.headers.contains_key(IDEMPOTENT_REPLAYED);
            let answer = answer.json()?;
            let batch = cell(answer.get("batch_id"), Show::Plain);
            let results = answer.get("results").cloned().unwrap_or_default();
            let decided: Vec<_> = waiting.iter().zip(rows(&results)).collect();
            let again = |result: &Value| result.get("problem").is_some() && (is_known || is_limited(result));
            let later: Vec<_> = decided.iter().filter(|(_, result)| again(result)).copied().collect();
            if is_known || later.len() < waiting.len() {
                pauses = PAUSES.iter();
            }
            let pause = pauses.next();
            for (job, result) in &decided {
                if !again(result) || pause.is_none() {
                    self.show(job, result, &batch, is_known)?;
                }
            }
            if decided.iter().any(|(_, result)| result.get("job_id").is_some()) {
                self.batches.push(batch);
            }
            let Some(pause) = pause.filter(|_| !later.is_empty()) else { return Ok(()) };
            if !is_known {
                let why = later.first().map(|(_, result)| why(result)).unwrap_or_default();
                self.output.note(&format!("{} jobs wait {pause} s for a limit: {why}", later.len()));
                tokio::time::sleep(Duration::from_secs(*pause)).await;
            }
            waiting = later.into_iter().map(|(job, _)| *job).collect();
        }
        Ok(())
    }

    /// One call. A server that is gone for a while, as when it is restarted, is waited for.
    async fn post(&self, jobs: &[&Written], round: usize) -> Result<Answer, CliError> {
        let body = Bytes::from(lines::body(jobs));
        let digest = Digest::of(&body).to_string();
        let key = format!("batch-{}-{round}", digest.get(..32).unwrap_or(&digest));
        let mut gone: Option<Instant> = None;
        loop {
            let ask = Ask::post(&["v1", "job-batches"])
                .bytes(HeaderValue::from_static("application/json"), body.clone())
                .within(Duration::from_secs(180));
            match self.client.send(ask.header(IDEMPOTENCY_KEY, &key)?).await {
                // A server that nobody has seen yet is more likely at another address than gone.
                Err(error) if follow::may_pass(&error) && (gone.is_some() || !self.batches.is_empty()) => {
                    if gone.get_or_insert_with(Instant::now).elapsed() > OUTAGE {
                        return Err(error);
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                other => return other,
            }
        }
    }

    fn show(&mut self, job: &Written, result: &Value, batch: &str, is_known: bool) -> Result<(), CliError> {
        let was_before = is_known || result.get("replayed").is_some();
        let (counter, word) = match result.get("problem") {
            Some(_) => (&mut self.refused, format!("refused: {}", why(result))),
            None if was_before => (&mut self.before, "submitted before".to_owned()),
            None => (&mut self.accepted, "accepted".to_owned()),
        };
        *counter += 1;
        self.bar.inc(1);
        if self.output.is_json() {
            let mut line = result.clone();
            line["line"] = json!(job.place);
            line["batch_id"] = json!(batch);
            return self.output.record(&line);
        }
        let job_id = result.get("job_id").map_or_else(|| "-".to_owned(), |id| cell(Some(id), Show::Plain));
        self.bar.suspend(|| self.output.line(&format!("{:>7}  {job_id:<36}  {word}", job.place)))
    }
}

/// Whether only a limit spoke against a member.
fn is_limited(result: &Value) -> bool {
    let code = result.pointer("/problem/code").and_then(Value::as_str);
    matches!(code, Some("quota_exceeded" | "rate_limited" | "overloaded"))
}

/// Why a member was refused, with pointers into the job.
fn why(result: &Value) -> String {
    let in_call = format!("/jobs/{}", cell(result.get("index"), Show::Plain));
    let problem = result.get("problem").cloned().unwrap_or_default();
    let members = problem.get("errors").and_then(Value::as_array).cloned().unwrap_or_default();
    let said = members.iter().map(|member| {
        let pointer = cell(member.get("pointer"), Show::Plain);
        let (pointer, message) =
            (pointer.strip_prefix(&in_call).unwrap_or(&pointer), cell(member.get("message"), Show::Plain));
        if pointer.is_empty() { message } else { format!("{pointer}: {message}") }
    });
    let said = said.collect::<Vec<_>>().join("; ");
    let code = cell(problem.get("code"), Show::Plain);
    if said.is_empty() {
        format!("{} ({code})", cell(problem.get("detail"), Show::Plain))
    } else {
        format!("{said} ({code})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_points_into_the_job_and_not_into_the_call() {
        let result = json!({"index": 3, "status": 400, "problem": {"code": "unknown_member", "detail": "x",
            "errors": [{"pointer": "/jobs/3/deadine", "message": "there is no such member"}, {"pointer": "/jobs/3", "message": "no"}]}});
        assert_eq!(why(&result), "/deadine: there is no such member; no (unknown_member)");
        let result = json!({"index": 0, "status": 429, "problem": {"code": "quota_exceeded", "detail": "5 jobs are pending"}});
        assert_eq!(why(&result), "5 jobs are pending (quota_exceeded)");
        assert!(is_limited(&result));
        assert!(!is_limited(&json!({"index": 0, "status": 202, "job_id": "job_1"})));
    }
}
