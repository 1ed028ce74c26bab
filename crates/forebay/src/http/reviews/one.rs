use axum::Json;
use axum::extract::State;
use forebay_core::id::JobId;
use forebay_core::limits::{LIST_PAGE, REVIEW_TEXT_CHARS};
use forebay_store::record::AuditQuery;

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::documents::memory;
use crate::http::dto::{ReviewDetail, ReviewStep, read};
use crate::http::jobs::stored;
use crate::http::params::{NoParams, PathId};
use crate::http::problem::Problem;
use crate::review::{self, Refused};

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
    let text = match review::text(&api.app, &job).await {
        Ok(text) => text,
        Err(Refused::Unreadable(reason)) => {
            tracing::error!(reason, job = %id, "the text beside a review can't be read");
            None
        }
        Err(refused) => return Err(refused.into()),
    };
    let review =
        ReviewDetail::new(review, store.now()).with_output(output).with_text(text, REVIEW_TEXT_CHARS);
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
    let of_reviews = records.into_iter().rev().filter(|record| record.action_name().starts_with("review."));
    Ok(of_reviews.map(ReviewStep::from).collect())
}
