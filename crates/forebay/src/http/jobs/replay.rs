use axum::extract::State;
use axum::response::Response;
use forebay_core::id::JobId;
use http::HeaderMap;

use super::submit::answer;
use crate::accept::Wish;
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::body::Payload;
use crate::http::fields::Fields;
use crate::http::headers::idempotency_key;
use crate::http::params::{NoParams, PathId};
use crate::http::problem::Problem;

/// Characters of a reason.
pub(in crate::http) const REASON_CHARS: usize = 1_000;

/// `POST /v1/jobs/{job_id}/replay`
pub(super) async fn replay(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, Problem> {
    let mut fields = Fields::of(payload.json_or_nothing()?);
    let wish = wish(&mut fields, &principal);
    fields.end()?;
    let key = idempotency_key(&headers)?;
    Ok(answer(&api.intake.replay(&principal, key, job, wish).await?))
}

/// How it is to be done again.
pub(in crate::http) fn wish(fields: &mut Fields, principal: &Principal) -> Wish {
    let task =
        fields.optional("task", "a task's name, or `name@revision`", |value| value.as_str()?.parse().ok());
    Wish {
        task,
        reason: fields.text("reason", REASON_CHARS),
        again: fields.optional("again", "true or false", |value| value.as_bool()).unwrap_or_default(),
        by: principal.actor(),
    }
}
