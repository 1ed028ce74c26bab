//! Jobs: submitting, looking, waiting, cancelling.

mod behind;
mod cancel;
mod explain;
mod list;
mod one;
mod replay;
mod result;
mod submit;

use axum::response::{IntoResponse, Response};
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_store::record::{Bytes, JobRecord};
use http::HeaderValue;
use http::header::ETAG;
use serde_json::json;

pub(super) use list::with_next;
pub(super) use replay::wish;

use super::api::Api;
use super::auth::Principal;
use super::dto;
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get, post};
use forebay_store::record::Scope;

/// The states of a job, as a parameter's schema.
const STATES: &str = r#"{"type":"string","enum":["READY","RUNNING","WAITING","RETRY_SCHEDULED","REVIEW_REQUIRED","SUCCEEDED",
    "FAILED_TERMINAL","CANCELLED"]}"#;
const EXAMPLE_JOB: &str = "job_0199c0ffee0070008000000000000001";

/// The routes of jobs.
pub(super) fn routes() -> Vec<Route> {
    let job = |summary| {
        Doc::of("jobs", summary).path("job_id", "The id of a job: `job_...`").refuses(&[Code::NotFound])
    };
    vec![
        post("/v1/jobs", submit::submit).needs(Scope::Submit, submit_doc()),
        get("/v1/jobs", list::list).needs(Scope::Read, list_doc()),
        get("/v1/jobs/{job_id}", one::one).needs(Scope::Read, one_doc(job("Look at a job, or wait for it"))),
        get("/v1/jobs/{job_id}/result", result::result).needs(
            Scope::Read,
            job("The result of a job that has succeeded")
                .gives::<dto::JobResult>(200, "The output and where it comes from")
                .refuses(&[Code::NotFinished, Code::NoResult]),
        ),
        get("/v1/jobs/{job_id}/explain", explain::explain).needs(
            Scope::Read,
            job("What a job waits for, and when it is likely to be done")
                .gives::<dto::Explanation>(200, "What stands in its way at the moment"),
        ),
        get("/v1/jobs/{job_id}/attempts", behind::attempts).needs(
            Scope::Inspect,
            job("Every claim of the job, and what came of it")
                .gives::<dto::AttemptList>(200, "The attempts, oldest first"),
        ),
        get("/v1/jobs/{job_id}/steps", behind::steps).needs(
            Scope::Inspect,
            job("The journal of the job").gives::<dto::StepList>(200, "The steps, oldest first"),
        ),
        post("/v1/jobs/{job_id}/cancel", cancel::cancel).needs(
            Scope::Operate,
            job("End a job")
                .more(
                    "May be repeated. A call under way is aborted; what it may have cost stays on the books.",
                )
                .gives::<dto::Job>(200, "The cancelled job")
                .refuses(&[Code::Conflict]),
        ),
        post("/v1/jobs/{job_id}/replay", replay::replay)
            .needs(Scope::Operate, replay_doc(job("Replay a job that failed"))),
    ]
}

fn replay_doc(doc: Doc) -> Doc {
    doc.more(
        "A new job with the same stored input, linked by `replay_of`, and admitted as any other; the failed job does not \
         change. Without `task` it runs by the active definitions. A job that has a replay which is at work or has \
         succeeded is refused unless `again` is true.",
    )
    .header("Idempotency-Key", "The same call under the same key gives the same job")
    .takes::<dto::ReplayBody>("Which task, and why", json!({"task": "invoice@4", "reason": "the prompt is mended"})).or_nothing()
    .gives::<dto::AcceptedJob>(202, "The new job is committed")
    .with_header("Location", "Where the new job is looked at")
    .with_header("Idempotent-Replayed", "`true` when the call had been made before under the same key")
    .refuses(&[
        Code::Conflict,
        Code::InvalidJson,
        Code::InvalidMember,
        Code::UnknownMember,
        Code::UnknownTask,
        Code::UnsupportedMediaType,
        Code::TooLarge,
        Code::RequestTimeout,
        Code::IdempotencyKeyReused,
        Code::QuotaExceeded,
        Code::BudgetExhausted,
    ])
}

fn submit_doc() -> Doc {
    let example = json!({
        "task": "invoice",
        "input": {"document": "doc_ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        "deadline": "2026-12-01T10:00:00.000Z",
        "metadata": {"order": "4711"},
    });
    Doc::of("jobs", "Submit a job")
        .more(
            "The answer comes after the job is committed. The same request under the same idempotency key gives \
             the same job; another request under that key is refused without any effect.",
        )
        .header("Idempotency-Key", "Up to 255 visible ASCII characters, plain or as a quoted string")
        .takes::<dto::SubmitBody>("The task, and what it works on", example)
        .gives::<dto::AcceptedJob>(202, "The job is committed")
        .with_header("Location", "Where the job is looked at")
        .with_header("Idempotent-Replayed", "`true` when the job had been accepted before under the same key")
        .with_header("RateLimit-Policy", "The limits that the job counts against, where there are any")
        .with_header("RateLimit", "How many jobs more (`r`) each of them takes in at once")
        .example(json!({
            "job_id": EXAMPLE_JOB, "state": "READY", "status_url": format!("/v1/jobs/{EXAMPLE_JOB}"),
        }))
        .refuses(&[
            Code::InvalidJson,
            Code::InvalidMember,
            Code::MissingMember,
            Code::UnknownMember,
            Code::UnknownTask,
            Code::TooLarge,
            Code::UnsupportedMediaType,
            Code::RequestTimeout,
            Code::IdempotencyKeyReused,
            Code::QuotaExceeded,
            Code::RateLimited,
            Code::BudgetExhausted,
        ])
}

fn list_doc() -> Doc {
    Doc::of("jobs", "List jobs, newest first")
        .query("state", STATES, "Only in this state")
        .query("task", r#"{"type":"string"}"#, "Only of this task")
        .query("batch", r#"{"type":"string","pattern":"^batch_[0-9a-f]{32}$"}"#, "Only members of this batch")
        .query(
            "created_after",
            r#"{"type":"string","format":"date-time"}"#,
            "Only accepted at this time or later",
        )
        .query("metadata.KEY", r#"{"type":"string"}"#, "Only with this value of the member KEY of `metadata`")
        .query(
            "limit",
            r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
            "The most jobs on the page",
        )
        .query(
            "cursor",
            r#"{"type":"string"}"#,
            "The `next_cursor` of the page before, with the same filters",
        )
        .gives::<dto::JobList>(200, "A page of jobs")
        .with_header("Link", "The next page, with `rel=\"next\"`; absent on the last one")
}

fn one_doc(doc: Doc) -> Doc {
    doc.more(
        "`Prefer: wait=N` holds the answer until the job has ended or needs a person, for up to 60 s. Together \
         with `If-None-Match` it holds until the job has changed in any way, and answers 304 if it has not.",
    )
    .header("Prefer", "`wait=20`: seconds to wait for, at most 60")
    .header("If-None-Match", "The `ETag` of the version that the caller has")
    .gives::<dto::Job>(200, "The job")
    .with_header("ETag", "The job's `state_version`")
    .with_header("Preference-Applied", "The wait that was granted")
    .gives_raw(304, "The caller has this version", None)
}

/// A job of the caller's tenant.
async fn find(api: &Api, principal: &Principal, job: JobId) -> Result<JobRecord, Problem> {
    api.app.store.job(principal.tenant, job).await?.ok_or_else(Problem::not_found)
}

/// A job as its caller sees it, with what its task and its review say.
pub(super) async fn shown(api: &Api, record: JobRecord) -> Result<dto::Job, Problem> {
    let findings = match record.job.state {
        State::ReviewRequired => api.app.store.review(record.tenant, record.id).await?,
        _ => None,
    };
    let max = max_attempts(api, &record).await;
    let job = dto::Job::new(record, max);
    Ok(match findings {
        Some(review) => job.with_findings(review.entry.findings_count),
        None => job,
    })
}

/// How many attempts the job's task gives a step; unknown when this build can't read the job's revision.
async fn max_attempts(api: &Api, record: &JobRecord) -> Option<u32> {
    let revision = api.app.revisions.get(record.revision).await.ok()?;
    revision.task(&record.task).map(|task| task.retry.max_attempts)
}

/// A job as an answer, with its version.
fn answer(job: &dto::Job) -> Response {
    let mut response = axum::Json(job).into_response();
    if let Ok(etag) = HeaderValue::from_str(&job.etag()) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}

/// Stored bytes, wherever they are.
pub(super) async fn stored(api: &Api, bytes: Bytes) -> Result<Vec<u8>, Problem> {
    match bytes {
        Bytes::Inline(bytes) => Ok(bytes),
        Bytes::Blob(digest) => api.app.blobs.get(digest).await?.ok_or_else(|| {
            tracing::error!(%digest, "a blob that a row refers to is not there");
            Problem::internal()
        }),
    }
}
