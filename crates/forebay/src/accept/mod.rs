//! Taking a job in: from bytes to a committed row, wherever the bytes came from.
//!
//! Strict parsing, the task and its revision, what the task allows, the digests, the first step, and then one
//! transaction in the store. Nothing is written before that, and nothing is undone after it.

mod batch;
mod rates;
mod refused;
mod replay;

use std::sync::Arc;

use forebay_core::definition::{AtBudget, Endpoint, Pool, Task, TaskKind};
use forebay_core::digest::{Digest, DocumentId};
use forebay_core::grant::Reservation;
use forebay_core::id::KeyId;
use forebay_core::limits::INLINE_BYTES;
use forebay_core::plan;
use forebay_core::request::{self, Input, StoredRequest, Submission};
use forebay_core::time::Timestamp;
use forebay_store::record::{Accepted, Bytes, DocumentRecord, NewJob, NewStep};

pub use batch::{Explain, Many, Taken, replay_many, submit_batch};
pub use refused::Refused;
pub use replay::{Wish, replay};

use crate::app::App;
use crate::revisions::{Revision, RevisionError};

/// Who hands a job over. Tenant and key come from the store, never from the message (I6).
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The tenant.
    pub tenant: i64,
    /// The key, where there is one.
    pub key_id: Option<KeyId>,
}

/// Accepts a job, or says why not.
///
/// # Errors
///
/// When the request is wrong, when a limit speaks against it, or when the store fails. Only in the last case
/// may it have been accepted all the same; the same idempotency key finds out.
pub async fn submit(
    app: &App,
    caller: Caller,
    idempotency_key: Option<String>,
    body: &[u8],
) -> Result<Accepted, Refused> {
    let submission = Submission::parse(request::json::parse(body)?)?;
    let refused = match prepare(app, caller, idempotency_key.clone(), submission).await {
        Ok(job) => return app.store.accept(job).await?.map_err(Refused::from),
        Err(refused) => refused,
    };
    let Some(key) = idempotency_key.filter(|_| !matches!(refused, Refused::Store(_))) else {
        return Err(refused);
    };
    // The first try may have been made under definitions, or at a time, that took it: it is the same job then.
    let body_digest = Submission::parse(request::json::parse(body)?)?.body_digest();
    match app.store.accepted_before(caller.tenant, key, body_digest).await? {
        Some(Ok(accepted)) => Ok(accepted),
        Some(Err(_)) | None => Err(refused),
    }
}

/// Everything that is decided about a job before its transaction.
async fn prepare(
    app: &App,
    caller: Caller,
    idempotency_key: Option<String>,
    submission: Submission,
) -> Result<NewJob, Refused> {
    let revision = revision(app, &submission).await?;
    let task = task(&revision, &submission)?;
    let active = app.revisions.active();
    let pool = pool(&active, task, &submission)?;
    check_input(task, &submission)?;
    check_params(task, &submission)?;
    let document = document(app, caller, &submission.input).await?;
    let document_bytes = match &submission.input {
        Input::Text(text) => text.len() as u64,
        Input::Document(_) | Input::Messages(_) | Input::Embed(_) => {
            document.as_ref().map_or(0, |document| document.bytes)
        }
    };
    let step = first_step(task, pool, &submission, document_bytes)?;
    let price = active.definitions.models.get(&task.model.name).map_or(task.model.price, |model| model.price);
    let ceiling = Reservation::of(step.input_tokens, step.output_tokens, &price).micros;
    let user = submission.user.clone();
    let job = new_job(app, caller, idempotency_key, &revision, task, submission, step).await?;
    let refuse_above_budget = (task.at_budget == AtBudget::Refuse).then_some(ceiling);
    let rate_limits = rates::limits(&active.definitions.submit_limits, caller, user.as_deref());
    Ok(NewJob { refuse_above_budget, rate_limits, ..job })
}

/// The revision that the job runs by: the pinned one, else the active one.
async fn revision(app: &App, submission: &Submission) -> Result<Arc<Revision>, Refused> {
    let Some(number) = submission.task.revision else {
        return Ok(app.revisions.active());
    };
    match app.revisions.get(number).await {
        Ok(revision) => Ok(revision),
        Err(RevisionError::Unknown(_)) => Err(Refused::unknown_task(&submission.task)),
        Err(RevisionError::Store(error)) => Err(Refused::Store(error)),
        Err(error) => Err(Refused::member(
            "/task".to_owned(),
            format!("this build can't use revision {number}: {error}"),
        )),
    }
}

fn task<'r>(revision: &'r Revision, submission: &Submission) -> Result<&'r Arc<Task>, Refused> {
    revision.task(&submission.task.name).ok_or_else(|| Refused::unknown_task(&submission.task))
}

/// The pool as it is now: a task of an older revision runs within today's limits, and not at all without its pool.
fn pool<'r>(active: &'r Revision, task: &Task, submission: &Submission) -> Result<&'r Pool, Refused> {
    let name = &task.model.pool.name;
    active.definitions.pools.get(name).map(|pool| &**pool).ok_or_else(|| {
        let message = format!(
            "`{}` runs in the pool `{name}`, which the active revision {} does not have: nothing would run it",
            submission.task, active.number
        );
        Refused::member("/task".to_owned(), message)
    })
}

/// Whether the task can work on such an input.
fn check_input(task: &Task, submission: &Submission) -> Result<(), Refused> {
    let takes = match (&task.kind, task.model.endpoint) {
        (TaskKind::Extract(_), _) => "`document` or `text`",
        (TaskKind::Llm { .. }, Endpoint::Chat | Endpoint::Responses) => "`messages` or `prompt`",
        (TaskKind::Llm { .. }, Endpoint::Embeddings) => "`embed`",
    };
    let embeds = matches!(submission.input, Input::Embed(_));
    let fits = submission.input.kind_fits(task.kind.name())
        && embeds == (task.model.endpoint == Endpoint::Embeddings);
    if fits {
        return Ok(());
    }
    let pointer = format!("/input/{}", submission.input.name());
    Err(Refused::member(pointer, format!("the task `{}` takes {takes}", task.name)))
}

/// Whether the task lets a request set these parameters.
fn check_params(task: &Task, submission: &Submission) -> Result<(), Refused> {
    for (name, value) in &submission.params {
        let pointer = request::fault::child("/params", name);
        if name == plan::MAX_OUTPUT_TOKENS {
            let most = task.max_output_tokens;
            if !value.as_u64().is_some_and(|tokens| (1..=most).contains(&tokens)) {
                let message =
                    format!("a whole number from 1 to {most}, the limit of the task `{}`", task.name);
                return Err(Refused::member(pointer, message));
            }
        } else if !task.allowed_params.contains(name) {
            let allowed = match task.allowed_params.as_slice() {
                [] => "no other parameters than `max_output_tokens`".to_owned(),
                names => format!("`max_output_tokens`, `{}`", names.join("`, `")),
            };
            return Err(Refused::member(pointer, format!("the task `{}` allows {allowed}", task.name)));
        }
    }
    Ok(())
}

/// The document that the job reads: the tenant's, and text.
async fn document(app: &App, caller: Caller, input: &Input) -> Result<Option<DocumentRecord>, Refused> {
    let Input::Document(DocumentId(digest)) = input else {
        return Ok(None);
    };
    let document = app.store.document(caller.tenant, *digest).await?.ok_or_else(Refused::no_document)?;
    if is_text(&document.media_type) {
        return Ok(Some(document));
    }
    let message = format!(
        "the document is {}, and only text can be read so far: upload its text as text/plain",
        document.media_type
    );
    Err(Refused::member("/input/document".to_owned(), message))
}

/// Whether a document of that media type is text that a model can read as it is.
fn is_text(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/")
        || matches!(essence.as_str(), "application/json" | "application/xml")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
}

/// The first step, refused when it can never run: larger than the model's context, or than a limit of its pool.
fn first_step(
    task: &Task,
    pool: &Pool,
    submission: &Submission,
    document_bytes: u64,
) -> Result<NewStep, Refused> {
    let bytes = usize::try_from(document_bytes).unwrap_or(usize::MAX);
    let request = StoredRequest { input: submission.input.clone(), params: submission.params.clone() };
    let step = plan::first(task, &request, bytes);
    let pointer = || format!("/input/{}", submission.input.name());
    plan::check_context(task, bytes).map_err(|failure| Refused::member(pointer(), failure.message))?;
    let call = Reservation::of(step.input_tokens, step.output_tokens, &task.model.price);
    if let Some((dimension, limit)) = pool.limits.rules_out(&call) {
        let (tokens, pool, name) = (dimension.need(&call), &pool.name, dimension.name());
        let message = format!(
            "the call needs about {tokens} tokens, more than pool `{pool}` ever has room for ({limit}, {name}): \
             it could never run"
        );
        return Err(Refused::member(pointer(), message));
    }
    Ok(new_step(task, &step))
}

/// A planned step, as the store keeps it.
pub fn new_step(task: &Task, step: &plan::Step) -> NewStep {
    NewStep {
        kind: step.kind.name(),
        pool: task.model.pool.name.clone(),
        model: task.model.name.clone(),
        target: 0,
        input_tokens: step.input_tokens,
        output_tokens: step.output_tokens,
    }
}

async fn new_job(
    app: &App,
    caller: Caller,
    idempotency_key: Option<String>,
    revision: &Revision,
    task: &Task,
    submission: Submission,
    first_step: NewStep,
) -> Result<NewJob, Refused> {
    let now = app.store.now();
    let (not_before, deadline) = times(task, &submission, now)?;
    let body_digest = submission.body_digest();
    Ok(NewJob {
        id: app.store.new_job_id(),
        tenant: caller.tenant,
        key_id: caller.key_id,
        idempotency_key,
        idempotency_ttl: app.settings.idempotency_ttl,
        body_digest,
        request_digest: request::request_digest(task.digest, body_digest),
        task: task.name.clone(),
        kind: task.kind.name(),
        revision: revision.number,
        priority: submission.priority,
        not_before,
        deadline,
        input: bytes(app, submission.stored()).await?,
        document: document_digest(&submission.input),
        ordering_key: submission.ordering_key,
        on_failure: task.on_failure,
        correlation_id: submission.correlation_id,
        metadata: metadata(&submission.metadata)?,
        series: submission
            .series
            .map(|series| (series.key, i64::try_from(series.version).unwrap_or(i64::MAX))),
        replay_of: None,
        batch: None,
        first_step,
        max_pending: app.settings.max_pending_jobs,
        refuse_above_budget: None,
        rate_limits: Vec::new(),
    })
}

fn document_digest(input: &Input) -> Option<Digest> {
    match input {
        Input::Document(DocumentId(digest)) => Some(*digest),
        Input::Messages(_) | Input::Embed(_) | Input::Text(_) => None,
    }
}

fn metadata(members: &std::collections::BTreeMap<String, String>) -> Result<Option<String>, Refused> {
    if members.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(members).map(Some).map_err(|error| Refused::Unreadable(error.to_string()))
}

/// When the job may start and must end. A deadline that leaves no time for a call is refused now rather than
/// missed later.
fn times(
    task: &Task,
    submission: &Submission,
    now: Timestamp,
) -> Result<(Option<Timestamp>, Timestamp), Refused> {
    let not_before = submission.not_before.map(|when| when.seen_from(now)).filter(|at| *at > now);
    let starts = not_before.unwrap_or(now);
    let deadline = match submission.deadline {
        Some(when) => when.seen_from(now),
        None => starts.after(task.default_ttl),
    };
    let margin = task.retry.commit_margin;
    if deadline <= starts.after(margin) {
        let pointer = match submission.deadline {
            Some(request::When::In(_)) => "/ttl_ms",
            _ => "/deadline",
        };
        let message = format!(
            "{deadline} is too soon: it is {starts} when the job may start, and a call needs more than the \
             {} ms that are kept free to commit its result",
            margin.get()
        );
        return Err(Refused::member(pointer.to_owned(), message));
    }
    Ok((not_before, deadline))
}

/// Bytes for a row, or for the blob store when they are many.
///
/// # Errors
///
/// When the blob store fails.
pub async fn bytes(app: &App, bytes: Vec<u8>) -> Result<Bytes, forebay_store::StoreError> {
    if bytes.len() <= INLINE_BYTES {
        return Ok(Bytes::Inline(bytes));
    }
    app.blobs.put(bytes).await.map(Bytes::Blob)
}
