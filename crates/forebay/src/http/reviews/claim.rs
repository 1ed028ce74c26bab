use axum::Json;
use axum::extract::State;
use forebay_core::id::JobId;
use forebay_core::limits::CLAIM_SECONDS;
use forebay_core::request::whole_number;
use forebay_core::time::Millis;
use forebay_store::record::{ReviewRecord, ReviewRefused};
use serde_json::{Map, Value};

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::body::Payload;
use crate::http::dto::ReviewSummary;
use crate::http::fields::Fields;
use crate::http::params::{NoParams, PathId};
use crate::http::problem::Problem;

/// How long a reviewer holds a review when nothing is said.
const DEFAULT_SPAN: Millis = Millis::from_secs(15 * 60);
const SHORTEST: Millis = Millis::from_secs(1);
const LONGEST: Millis = Millis::from_secs(CLAIM_SECONDS);

/// `POST /v1/reviews/{job_id}/claim`
pub(super) async fn claim(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
    payload: Payload,
) -> Result<Json<ReviewSummary>, Problem> {
    let body = if payload.bytes.is_empty() { Value::Object(Map::new()) } else { payload.json()? };
    let span = span(body)?;
    let store = &api.app.store;
    shown(&api, store.claim_review(principal.tenant, job, span, principal.actor()).await?)
}

/// `DELETE /v1/reviews/{job_id}/claim`
pub(super) async fn release(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
) -> Result<Json<ReviewSummary>, Problem> {
    shown(&api, api.app.store.release_review(principal.tenant, job, principal.actor()).await?)
}

fn shown(api: &Api, answer: Result<ReviewRecord, ReviewRefused>) -> Result<Json<ReviewSummary>, Problem> {
    Ok(Json(ReviewSummary::open(answer?.entry, api.app.store.now())))
}

fn span(body: Value) -> Result<Millis, Problem> {
    let mut fields = Fields::of(body);
    let expected = format!("a whole number of milliseconds from {} to {}", SHORTEST.get(), LONGEST.get());
    let span = fields.optional("for_ms", &expected, |value| {
        let span = Millis::new(whole_number(value)?);
        (SHORTEST..=LONGEST).contains(&span).then_some(span)
    });
    fields.end()?;
    Ok(span.unwrap_or(DEFAULT_SPAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_claim_is_for_a_second_to_eight_hours() {
        let read = |body: Value| span(body).ok().map(|span| span.get());
        assert_eq!(read(json!({})), Some(900_000));
        assert_eq!(read(json!({"for_ms": 1_000})), Some(1_000));
        assert_eq!(read(json!({"for_ms": 28_800_000})), Some(28_800_000));
        for refused in [json!({"for_ms": 999}), json!({"for_ms": 28_800_001}), json!({"for": 1}), json!([])] {
            assert_eq!(read(refused.clone()), None, "{refused}");
        }
    }
}
