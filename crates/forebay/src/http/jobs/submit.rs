use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_store::failpoint;
use forebay_store::record::Accepted;
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::body::Payload;
use crate::http::dto::{AcceptedJob, job_url};
use crate::http::headers::{IDEMPOTENT_REPLAYED, idempotency_key, rate_limit};
use crate::http::params::NoParams;
use crate::http::problem::Problem;

/// `POST /v1/jobs`
pub(super) async fn submit(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, Problem> {
    payload.must_be_json()?;
    let key = idempotency_key(&headers)?;
    let accepted = api.intake.submit(&principal, key, payload.bytes).await?;
    failpoint::reach("submit", "before_answer");
    Ok(answer(&accepted))
}

/// A job that is committed, now or before.
pub(super) fn answer(accepted: &Accepted) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(AcceptedJob::from(accepted))).into_response();
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::from_str(&job_url(accepted.job_id)) {
        headers.insert(LOCATION, location);
    }
    rate_limit(headers, &accepted.rates);
    if accepted.replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::id::JobId;
    use forebay_core::job::State as JobState;

    #[test]
    fn a_replay_says_that_it_is_one() {
        let job_id = JobId::from_bytes([1; 16]);
        let new = answer(&Accepted { job_id, state: JobState::Ready, replayed: false, rates: Vec::new() });
        assert_eq!(new.status(), StatusCode::ACCEPTED);
        assert_eq!(new.headers()["location"], format!("/v1/jobs/{job_id}"));
        assert!(!new.headers().contains_key("idempotent-replayed"));
        let replay =
            answer(&Accepted { job_id, state: JobState::Succeeded, replayed: true, rates: Vec::new() });
        assert_eq!(replay.headers()["idempotent-replayed"], "true");
    }
}
