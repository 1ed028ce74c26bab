//! Deciding reviews: what a decision needs beside the ledger, whoever decides.
//!
//! A correction must pass the task's schema, and what the policy finds all the same is recorded with it; a rerun
//! plans the first step anew. The rest is one transaction of the store.

use std::sync::Arc;

use forebay_core::dataset::Dataset;
use forebay_core::definition::{Extraction, Task, TaskKind};
use forebay_core::digest::Digest;
use forebay_core::extract::{Evidence, Finding, Rechecked, References, kept_evidence, recheck};
use forebay_core::id::JobId;
use forebay_core::plan;
use forebay_core::request::{Input, StoredRequest, When, canonical};
use forebay_core::review::{Decision, FieldChange, changes};
use forebay_core::time::Timestamp;
use forebay_store::StoreError;
use forebay_store::record::{
    Actor, Bytes, Decided, JobRecord, NewDecision, NewResult, ReviewRecord, ReviewRefused, Verdict,
};
use serde_json::{Map, Value, json};
use tracing::info;

use crate::accept;
use crate::app::App;
use crate::revisions::RevisionError;

/// A decision as it is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Whose job.
    pub tenant: i64,
    /// Which job.
    pub job_id: JobId,
    /// The job's version that is decided about.
    pub seen: u64,
    /// What is decided.
    pub what: What,
    /// What is said about it.
    pub comment: Option<String>,
    /// By whom.
    pub by: Actor,
}

/// What is decided.
#[derive(Debug, Clone)]
pub enum What {
    /// The output is right.
    Approve,
    /// This is right instead.
    Correct(Value),
    /// The output is refused.
    Reject,
    /// The machines do it again, until then; without a time, as long as the task gives them.
    Rerun(Option<When>),
}

/// Why a review is not decided. Nothing was written.
#[derive(Debug)]
pub enum Refused {
    /// The rules, or somebody else's claim, speak against it.
    Review(ReviewRefused),
    /// The corrected output does not satisfy the task's schema.
    Schema(Vec<Finding>),
    /// The time that the machines should have leaves none for a call.
    TooSoon(String),
    /// The job's task, or what it was asked to do, can't be read any more.
    Unreadable(String),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Refused::Store(error)
    }
}

/// Decides a review.
///
/// # Errors
///
/// When it is not there to be decided so, or the store fails. Only in the last case may it have been decided all
/// the same: the same decision again finds out.
pub async fn decide(app: &App, asked: Asked) -> Result<Decided, Refused> {
    let digest = digest(&asked);
    let job = app.store.job(asked.tenant, asked.job_id).await?;
    let job = job.ok_or(Refused::Review(ReviewRefused::NoJob))?;
    let (verdict, fingerprint) = match asked.what {
        What::Approve => (Verdict::Approve, fingerprint(app, &job).await?),
        What::Correct(output) => correct(app, &job, output).await?,
        What::Reject => (Verdict::Reject, None),
        What::Rerun(until) => (rerun(app, &job, until).await?, None),
    };
    let decision = verdict.decision();
    let new = NewDecision {
        tenant: asked.tenant,
        job_id: asked.job_id,
        seen: asked.seen,
        verdict,
        comment: asked.comment,
        fingerprint,
        digest,
        by: asked.by,
    };
    let decided = app.store.decide_review(new).await?.map_err(Refused::Review)?;
    if !decided.replayed {
        note(app, &decided, decision);
    }
    Ok(decided)
}

fn note(app: &App, decided: &Decided, decision: Decision) {
    let state = decided.job.job.state;
    info!(job = %decided.job.id, decision = decision.name(), state = state.name(), "a review was decided");
    app.metrics.decided(decision);
    if state.is_terminal() {
        app.metrics.finished(state);
    }
}

/// Covers what makes a decision the same when it is sent again.
fn digest(asked: &Asked) -> Digest {
    let (decision, output) = match &asked.what {
        What::Approve => (Decision::Approve, &Value::Null),
        What::Correct(output) => (Decision::Correct, output),
        What::Reject => (Decision::Reject, &Value::Null),
        What::Rerun(_) => (Decision::Rerun, &Value::Null),
    };
    let mut whole = json!({ "decision": decision.name(), "output": output, "comment": asked.comment });
    match asked.what {
        What::Rerun(Some(When::At(at))) => whole["deadline"] = json!(at),
        What::Rerun(Some(When::In(span))) => whole["ttl_ms"] = json!(span),
        What::Rerun(None) | What::Approve | What::Correct(_) | What::Reject => {}
    }
    Digest::of(&canonical::to_bytes(&whole))
}

async fn correct(app: &App, job: &JobRecord, output: Value) -> Result<(Verdict, Option<Digest>), Refused> {
    let task = task(app, job).await?;
    let review = app.store.review(job.tenant, job.id).await?;
    let model_output = model_output(app, review.as_ref()).await?;
    let changes = changes(model_output.as_ref(), &output);
    let (mut members, evidence) = provenance(review.as_ref(), &changes);
    name_origin(app, job, &task, &mut members).await?;
    let Rechecked { findings, fingerprint } = match &task.kind {
        TaskKind::Extract(extraction) => {
            let findings = extraction.schema.check(&output);
            if !findings.is_empty() {
                return Err(Refused::Schema(findings));
            }
            let (rechecked, datasets) = check(app, job, extraction, &output, &evidence, &changes).await?;
            members.insert("datasets".to_owned(), datasets);
            rechecked
        }
        TaskKind::Llm { .. } => Rechecked::default(),
    };
    let provenance = Value::Object(members).to_string().into_bytes();
    let output = accept::bytes(app, output.to_string().into_bytes()).await?;
    let result = NewResult { output, provenance };
    let findings = json!(findings).to_string().into_bytes();
    Ok((Verdict::Correct { result, changes, findings }, fingerprint))
}

/// What the policy says about an output that a person vouches for, and the datasets that it was held against.
async fn check(
    app: &App,
    job: &JobRecord,
    extraction: &Extraction,
    output: &Value,
    evidence: &[Evidence],
    changes: &[FieldChange],
) -> Result<(Rechecked, Value), Refused> {
    let policy = &extraction.policy;
    let document = text(app, job).await?.unwrap_or_default();
    let (datasets, unreadable) = app.tables.of_policy(app.store.as_ref(), job.tenant, policy).await;
    let stamps = json!(datasets.iter().map(Dataset::stamp).collect::<Vec<_>>());
    let today = app.store.now().date();
    let references = References { today, datasets: &datasets, unreadable: &unreadable, seen: None };
    let rechecked = recheck(output, evidence, changes, &document, policy, &references);
    let Some(fingerprint) = rechecked.fingerprint else { return Ok((rechecked, stamps)) };
    let holder = app.store.fingerprint_holder(job.tenant, &job.task, fingerprint).await?;
    let Some(seen) = holder.filter(|holder| *holder != job.id).map(|holder| holder.to_string()) else {
        return Ok((rechecked, stamps));
    };
    let references = References { seen: Some(&seen), ..references };
    Ok((recheck(output, evidence, changes, &document, policy, &references), stamps))
}

/// By what the output that is approved is known, where its policy looks for duplicates. A task that can't be read
/// any more takes no fingerprint and keeps nobody from approving.
async fn fingerprint(app: &App, job: &JobRecord) -> Result<Option<Digest>, Refused> {
    let Ok(task) = task(app, job).await else { return Ok(None) };
    let TaskKind::Extract(extraction) = &task.kind else { return Ok(None) };
    if extraction.policy.duplicates.is_none() {
        return Ok(None);
    }
    let review = app.store.review(job.tenant, job.id).await?;
    let Some(output) = model_output(app, review.as_ref()).await? else { return Ok(None) };
    Ok(check(app, job, extraction, &output, &[], &[]).await?.0.fingerprint)
}

async fn model_output(app: &App, review: Option<&ReviewRecord>) -> Result<Option<Value>, Refused> {
    let Some(bytes) = review.and_then(|review| review.output.clone()) else { return Ok(None) };
    Ok(serde_json::from_slice(&read(app, bytes).await?).ok())
}

/// The provenance of a corrected output, with the evidence that still stands for it.
fn provenance(review: Option<&ReviewRecord>, changes: &[FieldChange]) -> (Map<String, Value>, Vec<Evidence>) {
    let stored = review.and_then(|review| serde_json::from_slice(&review.provenance).ok());
    let mut members: Map<String, Value> = stored.unwrap_or_default();
    let evidence = members.remove("evidence").and_then(|evidence| serde_json::from_value(evidence).ok());
    let kept = kept_evidence(evidence.unwrap_or_default(), changes);
    members.insert("evidence".to_owned(), json!(kept));
    (members, kept)
}

/// Says by which rules an output was corrected and which attempt left the doubt, where a review without an output
/// does not say it (I24).
async fn name_origin(
    app: &App,
    job: &JobRecord,
    task: &Task,
    members: &mut Map<String, Value>,
) -> Result<(), Refused> {
    let mut note = |name: &str, value: Value| {
        members.entry(name).or_insert(value);
    };
    note("revision", json!(job.revision));
    if let TaskKind::Extract(extraction) = &task.kind {
        note("policy", json!(extraction.policy_name));
        note("schema_sha256", json!(extraction.schema.digest()));
    }
    if let Some(attempt) = app.store.attempts(job.tenant, job.id).await?.last() {
        note("attempt_id", json!(attempt.id));
    }
    Ok(())
}

/// The job's first step, planned anew, and its own time.
async fn rerun(app: &App, job: &JobRecord, until: Option<When>) -> Result<Verdict, Refused> {
    let task = task(app, job).await?;
    let deadline = deadline(app.store.now(), &task, until)?;
    let request = request(app, job).await?;
    let document_bytes = text(app, job).await?.map_or(0, |text| text.len());
    let step = accept::new_step(&task, &plan::first(&task, &request, document_bytes));
    Ok(Verdict::Rerun { step, deadline })
}

/// Until when the machines have time.
fn deadline(now: Timestamp, task: &Task, until: Option<When>) -> Result<Timestamp, Refused> {
    let Some(until) = until else { return Ok(now.after(task.default_ttl)) };
    let (deadline, margin) = (until.seen_from(now), task.retry.commit_margin);
    if deadline > now.after(margin) {
        return Ok(deadline);
    }
    let margin = margin.get();
    let message = format!(
        "{deadline} is too soon: a call needs more than the {margin} ms that are kept free to commit its result"
    );
    Err(Refused::TooSoon(message))
}

async fn task(app: &App, job: &JobRecord) -> Result<Arc<Task>, Refused> {
    let revision = app.revisions.get(job.revision).await;
    let revision = revision.map_err(|error| match error {
        RevisionError::Store(failure) => Refused::Store(failure),
        other => Refused::Unreadable(other.to_string()),
    })?;
    let missing = || Refused::Unreadable(format!("revision {} has no task `{}`", job.revision, job.task));
    revision.task(&job.task).map(Arc::clone).ok_or_else(missing)
}

async fn request(app: &App, job: &JobRecord) -> Result<StoredRequest, Refused> {
    let gone = || Refused::Unreadable(format!("{} has no request", job.id));
    let work = app.store.work(vec![job.id]).await?.pop().ok_or_else(gone)?;
    let bytes = read(app, work.input).await?;
    StoredRequest::read(&bytes).map_err(|error| Refused::Unreadable(error.to_string()))
}

/// The text that a job reads, where it reads one: its document's, or what it was submitted with.
///
/// # Errors
///
/// When the store fails, or the job's request can't be read.
pub async fn text(app: &App, job: &JobRecord) -> Result<Option<String>, Refused> {
    if let Some(digest) = job.document {
        let bytes = app.blobs.get(digest).await?;
        return Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
    }
    Ok(match request(app, job).await?.input {
        Input::Text(text) => Some(text),
        Input::Document(_) | Input::Messages(_) | Input::Embed(_) => None,
    })
}

async fn read(app: &App, bytes: Bytes) -> Result<Vec<u8>, Refused> {
    match bytes {
        Bytes::Inline(bytes) => Ok(bytes),
        Bytes::Blob(digest) => {
            let gone = || Refused::Unreadable(format!("blob {digest} is gone"));
            app.blobs.get(digest).await?.ok_or_else(gone)
        }
    }
}
