//! One attempt: prepare, call, judge, commit.

use std::sync::Arc;
use std::time::Duration;

use forebay_core::attempt::Outcome;
use forebay_core::definition::{PoolLimits, Provider, Task};
use forebay_core::failure::FailureClass;
use forebay_core::job::Failure;
use forebay_core::plan::{self, Entry, ModelRequest, StepKind};
use forebay_core::request::{Input, StoredRequest};
use forebay_core::time::Millis;
use forebay_core::window::{SLACK, Span};
use forebay_gateway::Report;
use forebay_store::StoreError;
use forebay_store::record::{AttemptClose, Bytes, Claimed, Committed, StepCommit, Then, Work};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::judge::{self, Verdict};
use super::{Worker, call};
use crate::revisions::RevisionError;

/// Everything that a step is run with.
pub(super) struct Prepared {
    pub(super) task: Arc<Task>,
    /// Who is called: as the active definitions have the task's pool, or as its own had it where it is gone since
    /// the claim.
    pub(super) provider: Arc<Provider>,
    pub(super) work: Work,
    pub(super) request: StoredRequest,
    pub(super) document: Arc<str>,
    pub(super) journal: Vec<Entry>,
}

/// Runs the current step of a claimed job and commits what came of it. What comes before and after the call is boxed:
/// while thousands of calls wait for their answers, no room is kept for it.
pub(super) async fn run(
    worker: &Worker,
    claimed: &Claimed,
    work: Result<Work, StoreError>,
    lost: &CancellationToken,
) {
    let prepared = match work {
        Ok(work) => Box::pin(prepare(worker, work)).await,
        Err(error) => Err(unread(&error)),
    };
    let verdict = match prepared {
        Err(failure) => judge::not_sent(failure),
        Ok(_) if worker.hand_back.is_cancelled() => judge::released(),
        Ok((prepared, _)) if is_void(worker, &prepared, claimed) => judge::released(),
        Ok((prepared, composed)) => match make_call(worker, &prepared, composed, claimed, lost).await {
            Ok(report) => return Box::pin(conclude(worker, &prepared, claimed, &report)).await,
            Err(verdict) => verdict,
        },
    };
    Box::pin(commit(worker, claimed, verdict)).await;
}

/// The provider's report, or what becomes of the attempt without one.
async fn make_call(
    worker: &Worker,
    prepared: &Prepared,
    composed: ModelRequest,
    claimed: &Claimed,
    lost: &CancellationToken,
) -> Result<Report, Verdict> {
    tokio::select! {
        biased;
        () = lost.cancelled() => Err(judge::dropped(prepared)),
        () = worker.hand_back.cancelled() => Err(judge::handed_back(prepared)),
        report = call::make(worker, prepared, composed, claimed) => Ok(report),
    }
}

/// Judges the report and commits the verdict. Where another job turns out at the commit to have succeeded with the same
/// fingerprint, the answer is judged once more, in that knowledge.
async fn conclude(worker: &Worker, prepared: &Prepared, claimed: &Claimed, report: &Report) {
    let verdict = judge::judge(worker, prepared, claimed, report, None).await;
    if let Some(Committed::Duplicate { of }) = commit(worker, claimed, verdict).await {
        let verdict = judge::judge(worker, prepared, claimed, report, Some(of)).await;
        commit(worker, claimed, verdict).await;
    }
}

/// Where a pool has limits per minute, a call must reach the provider within half of the slack after its grant,
/// or the promise about the sliding minute could break; then the grant is void and the job goes back unharmed. So it
/// does where this process was paused for half of the lease: the job may be another's soon. A shorter bound would let a
/// machine that is too slow for it hand back all that it claims, and claim it again.
fn is_void(worker: &Worker, prepared: &Prepared, claimed: &Claimed) -> bool {
    const HALF_SLACK: Millis = Millis::new(SLACK.get() / 2);
    let by_the_minute = limits(worker, &prepared.task).looks_back(Span::Minute);
    let half_lease = Millis::new(worker.app.settings.lease.get() / 2);
    let most = if by_the_minute { HALF_SLACK } else { half_lease };
    worker.app.store.now().since(claimed.granted_at) > most
}

/// The limits that a task's pool has now, whatever they were when its job came.
pub(super) fn limits(worker: &Worker, task: &Task) -> PoolLimits {
    let active = worker.app.revisions.active();
    active.definitions.pools.get(&task.model.pool.name).map_or(task.model.pool.limits, |pool| pool.limits)
}

/// Brings together what the step needs, and what it will send.
async fn prepare(worker: &Worker, mut work: Work) -> Result<(Prepared, ModelRequest), Failure> {
    let undecodable =
        |error: &dyn std::fmt::Display| Failure::new(FailureClass::Undecodable, error.to_string());
    if StepKind::from_name(&work.step_kind).is_none() {
        let problem = format!("this build knows no steps of the kind `{}`", work.step_kind);
        return Err(undecodable(&problem));
    }
    let revision = worker.app.revisions.get(work.revision).await.map_err(|error| match error {
        RevisionError::Store(error) => unread(&error),
        error => undecodable(&error),
    })?;
    let task = revision
        .task(&work.task)
        .map(Arc::clone)
        .ok_or_else(|| undecodable(&format!("revision {} has no task `{}`", work.revision, work.task)))?;
    let input = read(worker, std::mem::take(&mut work.input)).await?;
    let request = StoredRequest::read(&input).map_err(|error| undecodable(&error))?;
    let mut journal = Vec::with_capacity(work.journal.len());
    for entry in std::mem::take(&mut work.journal) {
        let entry = read(worker, entry).await?;
        journal.push(serde_json::from_slice(&entry).map_err(|error| undecodable(&error))?);
    }
    let document: Arc<str> = document(worker, &request.input).await?.into();
    let composed = plan::compose(&task, &request, &document, &journal)?;
    let provider = provider(worker, &task);
    Ok((Prepared { task, provider, work, request, document, journal }, composed))
}

/// Pools and credentials are those of the active definitions, task and model those of the job's own.
fn provider(worker: &Worker, task: &Task) -> Arc<Provider> {
    let active = worker.app.revisions.active();
    let own = &task.model.pool;
    Arc::clone(&active.definitions.pools.get(&own.name).unwrap_or(own).provider)
}

async fn read(worker: &Worker, bytes: Bytes) -> Result<Vec<u8>, Failure> {
    match bytes {
        Bytes::Inline(bytes) => Ok(bytes),
        Bytes::Blob(digest) => match worker.app.blobs.get(digest).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(Failure::new(FailureClass::Undecodable, format!("blob {digest} is gone"))),
            Err(error @ StoreError::Unavailable(_)) => Err(no_blobs(&error)),
            Err(error) => Err(Failure::new(FailureClass::Internal, error.to_string())),
        },
    }
}

/// What was claimed could not be read. A store that is away says nothing about the job.
fn unread(error: &StoreError) -> Failure {
    match error {
        StoreError::Unavailable(_) | StoreError::Unknown(_) | StoreError::Raced(_) => {
            warn!(%error, "the store fails a job");
            Failure::new(FailureClass::Internal, "what the job needs could not be read from the store")
        }
        error => Failure::new(FailureClass::Undecodable, error.to_string()),
    }
}

/// The store of blobs is away. Where it is and why is the operator's affair, who finds it in the log.
pub(super) fn no_blobs(error: &StoreError) -> Failure {
    warn!(%error, "the store of blobs fails a job");
    Failure::new(FailureClass::Internal, "the store of documents and large values is not available")
}

/// The text that the job reads. A document whose content is not that of its digest is never sent (I3).
async fn document(worker: &Worker, input: &Input) -> Result<String, Failure> {
    let unavailable = |message: String| Failure::new(FailureClass::DocumentUnavailable, message);
    match input {
        Input::Document(id) => {
            let found = worker.app.blobs.get(id.0).await.map_err(|error| match error {
                // The document is well, and the next try may read it.
                StoreError::Unavailable(_) => no_blobs(&error),
                error => unavailable(error.to_string()),
            });
            let bytes = found?;
            let bytes = bytes.ok_or_else(|| unavailable(format!("{id} is gone")))?;
            String::from_utf8(bytes).map_err(|_| unavailable(format!("{id} is not UTF-8 text")))
        }
        Input::Text(text) => Ok(text.clone()),
        Input::Messages(_) | Input::Embed(_) => Ok(String::new()),
    }
}

/// Writes the verdict. A store that is away is asked again until it is back: the answer is paid for, and a commit
/// needs the fence, not the lease. Only at shutdown that ends. Nothing is known of it where there is no answer.
async fn commit(worker: &Worker, claimed: &Claimed, verdict: Verdict) -> Option<Committed> {
    const LONGEST: Duration = Duration::from_secs(2);
    /// Tries at shutdown: ten seconds.
    const TRIES: u32 = 9;
    let commit = StepCommit {
        job_id: claimed.job_id,
        attempt_id: claimed.attempt_id,
        fence: claimed.fence,
        incarnation: worker.app.store.origin().incarnation,
        close: verdict.close,
        then: verdict.then,
    };
    let mut tries = 0;
    while tries < TRIES || !worker.hand_back.is_cancelled() {
        match worker.app.store.commit_step(commit.clone()).await {
            Ok(committed) => {
                noted(worker, claimed, &commit, &committed);
                return Some(committed);
            }
            Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown(_))) => {
                warn!(%error, job = %claimed.job_id, "a result could not be committed yet");
                tokio::time::sleep(Duration::from_millis(100 << tries.min(TRIES)).min(LONGEST)).await;
                tries += 1;
            }
            Err(error) => {
                // What the row refuses it refuses again; the job's lease lapses, and rescue says so.
                tracing::error!(%error, job = %claimed.job_id, "a result can't be committed");
                return None;
            }
        }
    }
    None
}

fn noted(worker: &Worker, claimed: &Claimed, commit: &StepCommit, committed: &Committed) {
    let class = commit.close.failure.as_ref().map_or("none", |failure| failure.class.name());
    match committed {
        Committed::Done { state, .. } => {
            debug!(job = %claimed.job_id, state = state.name(), class, "committed");
            if state.is_settled() {
                worker.app.metrics.finished(*state);
            }
        }
        Committed::Lost => {
            worker.app.metrics.stale_commit();
            debug!(job = %claimed.job_id, class, "the job belongs to somebody else: only evidence was kept");
        }
        Committed::Duplicate { of } => {
            debug!(job = %claimed.job_id, %of, "another job has succeeded with the same fingerprint");
            return;
        }
    }
    if !matches!(commit.then, Then::Release) {
        count(worker, &commit.close);
    }
}

fn count(worker: &Worker, close: &AttemptClose) {
    let outcome: Outcome = close.outcome;
    worker.app.metrics.attempt(outcome);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_not_be_read_is_undecodable() {
        let away = StoreError::Unavailable("10.0.0.7 does not answer".to_owned());
        let failure = unread(&away);
        assert_eq!(failure.class, FailureClass::Internal);
        assert!(
            !failure.message.contains("10.0.0.7"),
            "where the store is is nobody's business: {failure:?}"
        );
        assert_eq!(unread(&StoreError::Corrupt("a word".to_owned())).class, FailureClass::Undecodable);
    }
}
