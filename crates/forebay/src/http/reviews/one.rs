use axum::Json;
use axum::extract::State;
use forebay_core::id::JobId;
use forebay_core::limits::LIST_PAGE;
use forebay_store::record::{AuditAction, AuditQuery};

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::documents::memory;
use crate::http::dto::{ReviewDetail, ReviewStep, read};
use crate::http::jobs::stored;
use crate::http::params::{NoParams, PathId};
use crate::http::problem::Problem;
use crate::review;

/// Characters of a document's text that a review shows; the whole document stands under its own address.
const TEXT_CHARS: usize = 1_000_000;

/// `GET /v1/reviews/{job_id}`
pub(super) async fn one(
    State(api): State<Api>,
    principal: Principal,
    PathId(id): PathId<JobId>,
    _: NoParams,
) -> Result<Json<ReviewDetail>, Problem> {
    let store = &api.app.store;
    let mut review = store.review(principal.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let job = store.job(principal.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let output = match review.output.take() {
        Some(bytes) => Some(read(&stored(&api, bytes).await?)),
        None => None,
    };
    let memory = memory(&api).await?;
    let text = review::text(&api.app, &job).await?;
    let review = ReviewDetail::new(review, store.now()).with_output(output).with_text(text, TEXT_CHARS);
    drop(memory);
    Ok(Json(review.with_history(history(&api, principal.tenant, id).await?)))
}

/// What was done about the job's reviews, oldest first; of very many the latest.
async fn history(api: &Api, tenant: i64, job: JobId) -> Result<Vec<ReviewStep>, Problem> {
    let query = AuditQuery {
        tenant: Some(tenant),
        subject: Some(job.to_string()),
        limit: LIST_PAGE,
        ..AuditQuery::default()
    };
    let records = api.app.store.audit(query).await?.records;
    let of_reviews = records.into_iter().rev().filter(|record| is_of_reviews(record.action));
    Ok(of_reviews.map(ReviewStep::from).collect())
}

fn is_of_reviews(action: AuditAction) -> bool {
    action.name().starts_with("review.")
}
