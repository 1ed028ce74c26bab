//! Doing a failed job's work again: a submission of what is stored, for a task as it is now or as it is asked for.

use forebay_core::digest::Digest;
use forebay_core::id::JobId;
use forebay_core::request::submission::Series;
use forebay_core::request::{StoredRequest, Submission, TaskRef};
use forebay_store::record::{Accepted, Actor, Bytes, NewJob, NewReplay, ReplaySource};

use super::{Caller, Refused, prepare};
use crate::app::App;

/// How a failed job is to be done again.
#[derive(Debug, Clone)]
pub struct Wish {
    /// By which task, and which revision of it; as the active definitions have the job's task where absent.
    pub task: Option<TaskRef>,
    /// Why.
    pub reason: Option<String>,
    /// Also when another replay is at work or has succeeded.
    pub again: bool,
    /// Who asks.
    pub by: Actor,
}

/// Accepts a job that does a failed one's work again, or says why not.
///
/// # Errors
///
/// When the job did not fail, when its input does not fit the task, or as any submission is refused.
pub async fn replay(
    app: &App,
    caller: Caller,
    idempotency_key: Option<String>,
    job: JobId,
    wish: &Wish,
) -> Result<Accepted, Refused> {
    let source = app.store.replay_source(caller.tenant, job).await?.ok_or(Refused::NoJob)?;
    let mut replay = prepare_replay(app, caller, source, wish).await?;
    // The key stands for the whole wish, not only for what the new job is to do.
    let task = wish.task.as_ref().map(ToString::to_string).unwrap_or_default();
    let asked = format!("replay {job} {task} {}", wish.again);
    replay.job.body_digest = Digest::of(asked.as_bytes());
    replay.job.idempotency_key = idempotency_key;
    Ok(app.store.replay(replay).await??)
}

/// Everything that is decided about a replay before its transaction.
pub(super) async fn prepare_replay(
    app: &App,
    caller: Caller,
    source: ReplaySource,
    wish: &Wish,
) -> Result<NewReplay, Refused> {
    let own = || TaskRef { name: source.job.task.clone(), revision: None };
    let task = wish.task.clone().unwrap_or_else(own);
    let request = read(app, &source.input).await?;
    let submission = Submission {
        task,
        input: request.input,
        params: request.params,
        deadline: None,
        not_before: None,
        priority: source.job.priority,
        ordering_key: source.job.ordering_key,
        correlation_id: source.job.correlation_id,
        metadata: metadata(source.job.metadata.as_deref())?,
        series: source.series.map(|(key, version)| Series { key, version: version.unsigned_abs() }),
        user: None,
        idempotency_key: None,
    };
    let job = prepare(app, caller, None, submission).await?;
    // Whoever operates the installation is not the client that is out of hand.
    let job = NewJob { replay_of: Some(source.job.id), rate_limits: Vec::new(), ..job };
    Ok(NewReplay { job, reason: wish.reason.clone(), again: wish.again, by: wish.by.clone() })
}

async fn read(app: &App, input: &Bytes) -> Result<StoredRequest, Refused> {
    let unreadable = |reason: &dyn std::fmt::Display| Refused::Unreadable(reason.to_string());
    let bytes = match input {
        Bytes::Inline(bytes) => bytes.clone(),
        Bytes::Blob(digest) => {
            app.blobs.get(*digest).await?.ok_or_else(|| unreadable(&"the job's input is not there"))?
        }
    };
    StoredRequest::read(&bytes).map_err(|error| unreadable(&error))
}

fn metadata(text: Option<&str>) -> Result<std::collections::BTreeMap<String, String>, Refused> {
    let read = text.map(serde_json::from_str).transpose();
    read.map(Option::unwrap_or_default).map_err(|error| Refused::Unreadable(error.to_string()))
}
