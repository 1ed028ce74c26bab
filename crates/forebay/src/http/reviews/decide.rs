use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::id::JobId;
use forebay_core::lifecycle::Refusal;
use forebay_core::limits::COMMENT_CHARS;
use forebay_core::request::{When, whole_number};
use forebay_core::time::Millis;
use forebay_store::record::ReviewRefused;
use http::HeaderValue;
use serde_json::Value;

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::body::Payload;
use crate::http::dto::ReviewDecided;
use crate::http::fields::Fields;
use crate::http::headers::IDEMPOTENT_REPLAYED;
use crate::http::params::{NoParams, PathId};
use crate::http::problem::{Code, Problem};
use crate::review::{self, Asked, Refused, What};

/// `POST /v1/reviews/{job_id}`
pub(super) async fn decide(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
    payload: Payload,
) -> Result<Response, Problem> {
    let Wanted { what, seen, comment } = wanted(payload.json()?)?;
    let (tenant, by) = (principal.tenant, principal.actor());
    let asked = Asked { tenant, job_id: job, seen, what, comment, by };
    let decided = match review::decide(&api.app, asked).await {
        Ok(decided) => decided,
        Err(Refused::Review(ReviewRefused::Rules(refusal))) => {
            return Err(too_late(&api, tenant, job, refusal).await?);
        }
        Err(refused) => return Err(refused.into()),
    };
    let replayed = decided.replayed;
    let Some(decided) = ReviewDecided::new(decided) else {
        tracing::error!(%job, "a decision that was just made is not there");
        return Err(Problem::internal());
    };
    let mut response = Json(decided).into_response();
    if replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Why the rules speak against it, with who decided what where somebody was faster.
async fn too_late(api: &Api, tenant: i64, job: JobId, refusal: Refusal) -> Result<Problem, Problem> {
    let review = api.app.store.review(tenant, job).await?;
    let decided = review.and_then(|review| review.decided);
    let detail = match (&refusal, decided) {
        (Refusal::State { .. }, Some(decided)) => format!(
            "the review has ended: `{}` by `{}` at {}",
            decided.decision.name(),
            decided.name.as_deref().unwrap_or("whoever cancelled the job"),
            decided.at
        ),
        _ => refusal.to_string(),
    };
    Ok(Problem::new(Code::Conflict, detail))
}

#[derive(Debug)]
struct Wanted {
    what: What,
    seen: u64,
    comment: Option<String>,
}

fn wanted(body: Value) -> Result<Wanted, Problem> {
    let mut fields = Fields::of(body);
    let decision = fields.required("decision", "one of approve, correct, reject, rerun", |value| {
        let known = ["approve", "correct", "reject", "rerun"];
        known.into_iter().find(|name| value.as_str() == Some(name))
    });
    let version = "the job's version that is decided about, a whole number";
    let seen = fields.required("state_version", version, |value| u64::try_from(whole_number(value)?).ok());
    let corrects = decision == Some("correct");
    let output = if corrects {
        fields.required("output", "the right output", |value| Some(value.clone()))
    } else {
        fields.optional("output", "no output: only `correct` takes one", |_| None)
    };
    let until = until(&mut fields, decision == Some("rerun"));
    let comment = fields.text("comment", COMMENT_CHARS);
    fields.end()?;
    let what = match decision.unwrap_or_default() {
        "approve" => What::Approve,
        "correct" => What::Correct(output.unwrap_or_default()),
        "reject" => What::Reject,
        _ => What::Rerun(until),
    };
    Ok(Wanted { what, seen: seen.unwrap_or_default(), comment })
}

/// Until when the machines have time to do it again.
fn until(fields: &mut Fields, is_rerun: bool) -> Option<When> {
    if !is_rerun {
        for name in ["deadline", "ttl_ms"] {
            fields.optional(name, "nothing: only `rerun` takes a time", |_| None::<()>);
        }
        return None;
    }
    let deadline = fields.time("deadline").map(When::At);
    let ttl = fields.optional("ttl_ms", "a whole number of milliseconds from 1", |value| {
        whole_number(value).filter(|millis| *millis > 0).map(Millis::new).map(When::In)
    });
    if deadline.is_some() && ttl.is_some() {
        fields.invalid("ttl_ms", "give `deadline` or `ttl_ms`, not both");
    }
    deadline.or(ttl)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Result<Wanted, &'static str> {
        wanted(body).map_err(|problem| problem.code().name())
    }

    #[test]
    fn a_decision_names_a_version() {
        let approve = read(json!({"decision": "approve", "state_version": 7, "comment": "ok"})).unwrap();
        assert!(matches!(approve.what, What::Approve));
        assert_eq!((approve.seen, approve.comment.as_deref()), (7, Some("ok")));
        let correct = read(json!({"decision": "correct", "state_version": 7, "output": [1]})).unwrap();
        assert!(matches!(correct.what, What::Correct(output) if output == json!([1])));
    }

    #[test]
    fn what_is_no_decision_is_refused() {
        for (body, code) in [
            (json!({"state_version": 7}), "missing_member"),
            (json!({"decision": "approve"}), "missing_member"),
            (json!({"decision": "correct", "state_version": 7}), "missing_member"),
            (json!({"decision": "cancelled", "state_version": 7}), "invalid_member"),
            (json!({"decision": "approve", "state_version": -1}), "invalid_member"),
            (json!({"decision": "approve", "state_version": 7, "output": {}}), "invalid_member"),
            (json!({"decision": "reject", "state_version": 7, "comment": " "}), "invalid_member"),
            (json!({"decision": "reject", "state_version": 7, "ttl_ms": 60_000}), "invalid_member"),
            (json!({"decision": "rerun", "state_version": 7, "ttl_ms": 0}), "invalid_member"),
            (
                json!({"decision": "rerun", "state_version": 7, "ttl_ms": 1, "deadline": "2026-12-01T10:00:00Z"}),
                "invalid_member",
            ),
            (json!({"decision": "reject", "state_version": 7, "reason": "x"}), "unknown_member"),
            (json!("approve"), "invalid_member"),
        ] {
            assert_eq!(read(body.clone()).err(), Some(code), "{body}");
        }
    }

    #[test]
    fn a_comment_has_2000_characters_at_most() {
        let with = |chars: usize| {
            read(json!({"decision": "rerun", "state_version": 1, "comment": "x".repeat(chars)})).is_ok()
        };
        assert_eq!((with(2_000), with(2_001)), (true, false));
    }
}
