//! Events as they happen: server-sent events with cursors that can be resumed.

mod counts;
mod frame;
mod stream;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::id::JobId;
use forebay_store::record::Scope;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};

use super::api::Api;
use super::auth::{Credential, Principal};
use super::headers::last_event_id;
use super::params::{Params, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};

pub(super) use counts::StreamCounts;
use stream::{Events, Start};

const EVENT_STREAM: &str = "text/event-stream";

/// The routes of event streams.
pub(super) fn routes() -> Vec<Route> {
    let doc = |summary| {
        Doc::of("events", summary)
            .header("Last-Event-ID", "The `id` of the last event that the caller has; the stream goes on after it")
            .query("after", r#"{"type":"string"}"#, "The same, for clients that can't send the header")
            .gives_raw(
                200,
                "Server-sent events. `id` is a cursor, `event` is `job.` and the type, `data` is the CloudEvent. \
                 `event: snapshot` comes first when the cursor is too old or from before a restore. A comment \
                 comes every 15 s. `event: closed` says why the server ended the stream.",
                Some(EVENT_STREAM),
            )
            .refuses(&[Code::InvalidParameter, Code::QuotaExceeded])
    };
    vec![
        get("/v1/jobs/{job_id}/events", of_job).needs(
            Scope::Read,
            doc("The events of a job, as they happen")
                .more("Begins with the job's first event and ends after its last one.")
                .path("job_id", "The id of a job: `job_...`")
                .refuses(&[Code::NotFound]),
        ),
        get("/v1/events", of_tenant).needs(
            Scope::Read,
            doc("The events of all jobs of the tenant, as they happen")
                .more("Without a cursor, begins with what happens from now on."),
        ),
    ]
}

/// `GET /v1/jobs/{job_id}/events`
async fn of_job(
    State(api): State<Api>,
    principal: Principal,
    credential: Credential,
    PathId(job): PathId<JobId>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, Problem> {
    api.app.store.job(principal.tenant, job).await?.ok_or_else(Problem::not_found)?;
    open(api, &principal, credential, Some(job), &headers, params)
}

/// `GET /v1/events`
async fn of_tenant(
    State(api): State<Api>,
    principal: Principal,
    credential: Credential,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, Problem> {
    open(api, &principal, credential, None, &headers, params)
}

fn open(
    api: Api,
    principal: &Principal,
    credential: Credential,
    job: Option<JobId>,
    headers: &HeaderMap,
    params: Params,
) -> Result<Response, Problem> {
    let start = start(&api, principal, job, headers, params)?;
    let place = api.streams.enter(principal.tenant)?;
    let events = Events::new(api, principal.tenant, credential, job, place);
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(events.from(start))).into_response())
}

/// Where the caller wants to begin.
fn start(
    api: &Api,
    principal: &Principal,
    job: Option<JobId>,
    headers: &HeaderMap,
    mut params: Params,
) -> Result<Start, Problem> {
    let after = params.text("after")?;
    params.end()?;
    let (name, cursor) = match (last_event_id(headers)?, after) {
        (Some(cursor), _) => ("Last-Event-ID", cursor),
        (None, Some(cursor)) => ("after", cursor),
        (None, None) => return Ok(if job.is_some() { Start::First } else { Start::Now }),
    };
    let position = api.cursors.read_place(principal.tenant, &cursor);
    position
        .map(|(life, place)| Start::After(life, place))
        .map_err(|forged| Problem::parameter(name, forged.to_string()))
}
