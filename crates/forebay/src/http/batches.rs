//! Many jobs in one call.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use forebay_core::id::BatchId;
use forebay_core::limits::{BATCH_BODY_BYTES, LIST_PAGE};
use forebay_store::record::{BatchRecord, MemberRecord, Scope};
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde_json::{Value, json};

use super::api::Api;
use super::auth::Principal;
use super::body::{Incoming, Payload};
use super::cursor::Series;
use super::documents::memory;
use super::dto::{Batch, BatchBody, BatchList, BatchTaken, MemberResult};
use super::headers::{IDEMPOTENT_REPLAYED, content_type, idempotency_key};
use super::jobs::with_next;
use super::outer::RequestId;
use super::params::{NoParams, Params, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get, post};

/// Batches on a page when the caller does not say.
const DEFAULT_PAGE: usize = 50;
/// Jobs that are ended in one transaction.
const CANCELLED_AT_ONCE: usize = 100;

/// The routes of batches.
pub(super) fn routes() -> Vec<Route> {
    let one = |summary| {
        Doc::of("batches", summary)
            .path("batch_id", "The id of a batch: `batch_...`")
            .refuses(&[Code::NotFound])
    };
    vec![
        post("/v1/job-batches", submit).needs(Scope::Submit, submit_doc()),
        get("/v1/job-batches", list).needs(
            Scope::Read,
            Doc::of("batches", "List batches, newest first")
                .query(
                    "limit",
                    r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
                    "The most batches on the page",
                )
                .query("cursor", r#"{"type":"string"}"#, "The `next_cursor` of the page before")
                .gives::<BatchList>(200, "A page of batches")
                .with_header("Link", "The next page, with `rel=\"next\"`; absent on the last one"),
        ),
        get("/v1/job-batches/{batch_id}", show).needs(
            Scope::Read,
            one("How far a batch is")
                .more("One event `batch.completed` comes when its call has taken in all members and their jobs have ended.")
                .gives::<Batch>(200, "The batch, with its jobs by state"),
        ),
        post("/v1/job-batches/{batch_id}/cancel", cancel).needs(
            Scope::Operate,
            one("End what is left of a batch")
                .more("May be repeated. Jobs that have ended stay as they are.")
                .gives::<Batch>(200, "The batch"),
        ),
    ]
}

fn submit_doc() -> Doc {
    let example = json!({"jobs": [
        {"task": "chat", "input": {"prompt": "Name three colours."}, "idempotency_key": "order-4711"},
        {"task": "chat", "input": {"prompt": "Name three rivers."}},
    ]});
    Doc::of("batches", "Submit up to 1,000 jobs")
        .more(
            "Each job by itself: one that is refused has its problem in `results`, with pointers into the body, and does \
             not hold up the others. The same body under the same idempotency key gives the same batch with the same \
             results; if the first call broke off, it goes on from there.",
        )
        .header("Idempotency-Key", "Up to 255 visible ASCII characters, plain or as a quoted string")
        .takes::<BatchBody>("The jobs", example)
        .gives::<BatchTaken>(202, "What became of each job, in order")
        .with_header("Location", "Where the batch is looked at")
        .with_header("Idempotent-Replayed", "`true` when the call had been made before under the same key")
        .refuses(&[
            Code::InvalidJson,
            Code::InvalidMember,
            Code::MissingMember,
            Code::UnknownMember,
            Code::TooLarge,
            Code::UnsupportedMediaType,
            Code::RequestTimeout,
            Code::IdempotencyKeyReused,
        ])
}

/// `POST /v1/job-batches`
async fn submit(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
    request_id: RequestId,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let _memory = memory(&api).await?;
    let media_type = content_type(&headers);
    let payload = Payload { bytes: Incoming::new(request)?.read(BATCH_BODY_BYTES).await?, media_type };
    payload.must_be_json()?;
    let taken = api.intake.submit_batch(&principal, key, &request_id, payload.bytes).await?;
    let batch_id = taken.batch.ok_or_else(Problem::internal)?;
    let record = find(&api, &principal, batch_id).await?;
    let members = api.app.store.members(principal.tenant, batch_id).await?;
    let answer = BatchTaken { batch_id, results: results(&record, members, &request_id) };
    Ok(accepted(Json(answer).into_response(), batch_id, taken.replayed))
}

/// An answer that a batch was made.
pub(super) fn accepted(mut response: Response, batch: BatchId, replayed: bool) -> Response {
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/job-batches/{batch}")) {
        headers.insert(LOCATION, location);
    }
    if replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// One result a member, in order. What was not taken in before the batch was cancelled never will be.
fn results(record: &BatchRecord, members: Vec<MemberRecord>, request_id: &RequestId) -> Vec<MemberResult> {
    let mut members = members.into_iter().peekable();
    let of_position = |position| match members.next_if(|member| member.position == position) {
        Some(member) => member.into(),
        None => MemberResult::cancelled(position, never_taken(request_id)),
    };
    (0..record.size).map(of_position).collect()
}

fn never_taken(request_id: &RequestId) -> Value {
    let problem = Problem::new(Code::Conflict, "the batch was cancelled before this member was taken in");
    serde_json::to_value(problem.body(&request_id.0)).unwrap_or_default()
}

/// `GET /v1/job-batches`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    uri: Uri,
    mut params: Params,
) -> Result<Response, Problem> {
    let cursor = params.text("cursor")?;
    let limit = params.limit(DEFAULT_PAGE, LIST_PAGE)?;
    params.end()?;
    let before =
        cursor.map(|cursor| api.cursors.position(&principal, Series::Batches, &cursor)).transpose()?;
    let page = api.app.store.batches(principal.tenant, before, limit).await?;
    let next_cursor = page.next.map(|next| api.cursors.write(principal.tenant, Series::Batches, next));
    let data = page.batches.iter().map(Batch::brief).collect();
    let list = BatchList { data, next_cursor: next_cursor.clone() };
    Ok(with_next(Json(list).into_response(), &uri, next_cursor.as_deref()))
}

/// `GET /v1/job-batches/{batch_id}`
async fn show(
    State(api): State<Api>,
    principal: Principal,
    PathId(batch): PathId<BatchId>,
    _: NoParams,
) -> Result<Json<Batch>, Problem> {
    Ok(Json(Batch::whole(&find(&api, &principal, batch).await?)))
}

/// `POST /v1/job-batches/{batch_id}/cancel`
async fn cancel(
    State(api): State<Api>,
    principal: Principal,
    PathId(batch): PathId<BatchId>,
    _: NoParams,
) -> Result<Json<Batch>, Problem> {
    loop {
        let cancelled =
            api.app.store.cancel_batch(principal.tenant, batch, CANCELLED_AT_ONCE, principal.actor()).await?;
        if cancelled.ok_or_else(Problem::not_found)? < CANCELLED_AT_ONCE {
            return Ok(Json(Batch::whole(&find(&api, &principal, batch).await?)));
        }
    }
}

async fn find(api: &Api, principal: &Principal, batch: BatchId) -> Result<BatchRecord, Problem> {
    api.app.store.batch(principal.tenant, batch).await?.ok_or_else(Problem::not_found)
}
