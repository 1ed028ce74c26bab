//! Decisions that persons owe.

use axum::Json;
use axum::extract::State;
use forebay_core::digest::{Digest, DocumentId};
use forebay_core::id::JobId;
use forebay_core::limits::LIST_PAGE;
use forebay_core::request::{Input, StoredRequest};
use forebay_core::text::storable;
use forebay_store::record::Scope;

use super::api::Api;
use super::auth::Principal;
use super::dto::{Review, ReviewList};
use super::headers::essence;
use super::jobs::stored;
use super::params::{NoParams, Params, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};

/// Characters of a document's text that a review shows; the whole document stands under its own address.
const TEXT_CHARS: usize = 1_000_000;
/// Reviews in an answer when the caller does not say.
const DEFAULT_PAGE: usize = 50;

/// The routes of reviews.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/reviews", list).needs(
            Scope::Review,
            Doc::of("reviews", "Open reviews, oldest first")
                .query(
                    "limit",
                    r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
                    "The most reviews in the answer",
                )
                .gives::<ReviewList>(200, "What is to be decided"),
        ),
        get("/v1/reviews/{job_id}", one).needs(
            Scope::Review,
            Doc::of("reviews", "The open or latest review of a job")
                .path("job_id", "The id of a job: `job_...`")
                .gives::<Review>(200, "Findings, output, and the document's text")
                .refuses(&[Code::NotFound]),
        ),
    ]
}

/// `GET /v1/reviews`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    mut params: Params,
) -> Result<Json<ReviewList>, Problem> {
    let limit = params.limit(DEFAULT_PAGE, LIST_PAGE)?;
    params.end()?;
    let reviews = api.app.store.open_reviews(principal.tenant, limit).await?;
    Ok(Json(ReviewList { data: reviews.into_iter().map(Review::from).collect() }))
}

/// `GET /v1/reviews/{job_id}`
async fn one(
    State(api): State<Api>,
    principal: Principal,
    PathId(id): PathId<JobId>,
    _: NoParams,
) -> Result<Json<Review>, Problem> {
    let store = &api.app.store;
    let review = store.review(principal.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let job = store.job(principal.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let text = match job.document {
        Some(digest) => text_of_document(&api, &principal, digest).await?,
        None => text_of_request(&api, id).await?,
    };
    let text = text.map(|text| storable(&text, TEXT_CHARS));
    let review = Review::from(review).with_job(job.job.state_version, job.document.map(DocumentId));
    Ok(Json(review.with_text(text)))
}

/// The text of a document that is text.
async fn text_of_document(
    api: &Api,
    principal: &Principal,
    digest: Digest,
) -> Result<Option<String>, Problem> {
    let document = api.app.store.document(principal.tenant, digest).await?;
    let is_text = |media_type: &str| {
        let essence = essence(media_type);
        essence.starts_with("text/") || essence.ends_with("json") || essence.ends_with("xml")
    };
    if !document.is_some_and(|document| is_text(&document.media_type)) {
        return Ok(None);
    }
    let bytes = api.app.blobs.get(digest).await?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The text that the job was submitted with. The job is known to be the caller's.
async fn text_of_request(api: &Api, job: JobId) -> Result<Option<String>, Problem> {
    let Some(work) = api.app.store.work(vec![job]).await?.pop() else { return Ok(None) };
    let bytes = stored(api, work.input).await?;
    Ok(match StoredRequest::read(&bytes).map(|request| request.input) {
        Ok(Input::Text(text)) => Some(text),
        Ok(Input::Messages(_) | Input::Embed(_) | Input::Document(_)) | Err(_) => None,
    })
}
